"""What stands before the routes: connections, bodies, senders that ask too much, and what is told of each request.

May import problems, metrics and token buckets; knows no route, no service and no database.
"""
