# environment.sh: unsets each variable of libpq, such as PGPORT. Each script that connects to PostgreSQL sources it.
#
# Scripts name their server in a URL. Variables of the caller's shell would add to that URL.
for variable in $(compgen -e | grep '^PG[A-Z]' || true); do unset "$variable"; done
unset variable
