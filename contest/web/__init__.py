"""Request and response helpers of pages and API calls."""
