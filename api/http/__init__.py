"""The service over HTTP: questions, commands, appends, live events, and its health.

Routes, parameters and the OpenAPI document are made from the tables of questions and commands.
"""
