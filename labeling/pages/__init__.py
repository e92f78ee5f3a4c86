"""The pages (views, forms, URLs) and API calls of labeling."""
