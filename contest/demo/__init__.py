"""The demo contest: real photographs, and taskers' answers of every kind."""
