"""The floor: the least that Django can do for the same two calls.

A bare project with the middleware a new one starts with, the session login, and plain SQL on tables of its own: two
transactions a label, no form is read, no lease ends, no receipt. What it takes is the price of the frame.
"""
