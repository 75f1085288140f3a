# environment.sh: sourced at the head of each script that talks to PostgreSQL; unsets each variable of libpq, such as PGPORT.
#
# Scripts name their server in a URL. What the caller's shell says of another one would add to that URL.
for variable in $(compgen -e | grep '^PG[A-Z]' || true); do unset "$variable"; done
unset variable
