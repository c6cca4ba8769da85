"""The paper's evaluation, run here: data, systems, tables, figures; `fgpr-experiments`. Nothing else imports it.

May import all of `fgpr`, and unlike the rest of it reads files, clocks and the environment.
"""
