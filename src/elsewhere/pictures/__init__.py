"""What a person looks at: drawings and HTML tables of results.

Everything here takes plain numbers and knows no result type, so that results can draw themselves.
"""
