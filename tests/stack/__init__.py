"""`make stack`: the stack of docker-compose.yml without Docker; real servers, a worker and a feed on loopback."""
