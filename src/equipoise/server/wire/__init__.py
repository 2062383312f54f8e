"""The wire formats, one file each: each gives a router over a `Service`."""
