// A worker in Go for the kind send_mail: docs/pull.md explains it.
//
//	DATABASE_URL=postgresql://mailer@localhost/shop go run worker.go
//
// QUEUE is its queue (mail). LEASE is how long it may be silent before its jobs run elsewhere (30 s).
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/lib/pq"
)

const slots = 10

type job struct {
	token   string
	attempt int
	payload []byte
}

type outcome struct {
	token  string
	output []byte
	err    error
}

// Another attempt would fail, too.
var errNoSuchAddress = errors.New("no such address")

// sendMail stands for the call of a mail server. It returns the job's output. lost is done once it must stop.
func sendMail(lost context.Context, job job) ([]byte, error) {
	var mail struct {
		To      string
		Seconds float64
		Busy    int
	}
	if err := json.Unmarshal(job.payload, &mail); err != nil {
		return nil, err
	}
	if !strings.Contains(mail.To, "@") {
		return nil, fmt.Errorf("%w: %s", errNoSuchAddress, mail.To)
	}
	select {
	case <-time.After(time.Duration(mail.Seconds * float64(time.Second))):
	case <-lost.Done():
		return nil, lost.Err()
	}
	if job.attempt <= mail.Busy {
		return nil, errors.New("the mail server is busy")
	}
	return json.Marshal(map[string]string{"sent_to": mail.To})
}

// tell tells outcomes. It returns those to tell again, and takes the others out of running.
func tell(db *sql.DB, ended []outcome, running map[string]context.CancelFunc) []outcome {
	done, outputs, failed, texts, permanent := []string{}, []string{}, []string{}, []string{}, []bool{}
	for _, one := range ended {
		if one.err == nil {
			done, outputs = append(done, one.token), append(outputs, string(one.output))
		} else {
			failed, texts = append(failed, one.token), append(texts, one.err.Error())
			permanent = append(permanent, errors.Is(one.err, errNoSuchAddress))
		}
	}
	rows, err := db.Query(`
		select token from errand.done($1, $2) where result <> 'again'
		union all
		select token from errand.fail($3, $4, permanent => $5) where result <> 'again'`,
		pq.Array(done), pq.Array(outputs), pq.Array(failed), pq.Array(texts), pq.Array(permanent))
	check(err)
	defer rows.Close()
	for rows.Next() {
		var token string
		check(rows.Scan(&token))
		running[token]()
		delete(running, token)
	}
	check(rows.Err())
	var again []outcome
	for _, one := range ended {
		if _, isRunning := running[one.token]; isRunning {
			again = append(again, one)
		}
	}
	return again
}

// pull takes up to free jobs, or only extends the lease. It returns the worker's id and the tokens that are lost, too.
func pull(db *sql.DB, free int, worker *string, running []string) (jobs []job, id *string, lost pq.StringArray) {
	query := `select $1::uuid, lost, '', 0, '' from errand.renew($1, $2)`
	arguments := []interface{}{worker, pq.Array(running)}
	if free > 0 {
		query = `
			select worker_id, lost, coalesce(token, ''), coalesce(attempt, 0), coalesce(payload, '{}')
			from errand.pull(array[$3], '{send_mail}', $4, $5, worker => $1, running => $2, listens => true)`
		arguments = append(arguments, setting("QUEUE", "mail"), free, setting("LEASE", "30 s"))
	}
	rows, err := db.Query(query, arguments...)
	check(err)
	defer rows.Close()
	for rows.Next() {
		var job job
		check(rows.Scan(&id, &lost, &job.token, &job.attempt, &job.payload))
		if job.token != "" {
			jobs = append(jobs, job)
		}
	}
	check(rows.Err())
	return jobs, id, lost
}

func main() {
	// Each statement commits at once.
	db, err := sql.Open("postgres", os.Getenv("DATABASE_URL"))
	check(err)
	_, err = db.Exec("select errand.put_kind('send_mail', queue => $1, retry_delays => '{2 s, 30 s, 10 min}')",
		setting("QUEUE", "mail"))
	check(err)
	// If its session is lost, new jobs are found up to a second later, by the next pull.
	listener := pq.NewListener(os.Getenv("DATABASE_URL"), time.Second, time.Minute, nil)
	check(listener.Listen("errand_wake"))
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	attempts := make(chan outcome, slots)
	running := map[string]context.CancelFunc{}
	var ended []outcome
	var worker *string
	for stopping := false; len(running) > 0 || !stopping; {
		if len(ended) > 0 {
			ended = tell(db, ended, running)
		}
		free := slots - len(running)
		if stopping {
			free = 0
		}
		tokens := []string{}
		for token := range running {
			tokens = append(tokens, token)
		}
		jobs, id, lost := pull(db, free, worker, tokens)
		worker = id
		for _, token := range lost {
			running[token]()
		}
		for _, one := range jobs {
			lost, cancel := context.WithCancel(context.Background())
			running[one.token] = cancel
			go func(job job) {
				output, err := sendMail(lost, job)
				attempts <- outcome{job.token, output, err}
			}(one)
		}
		pause := time.Second
		if len(jobs) > 0 {
			// There may be more.
			pause = 0
		}
		select {
		case one := <-attempts:
			ended = append(ended, one)
		case <-listener.Notify:
		case <-stop:
			stopping = true
		case <-time.After(pause):
		}
		for len(attempts) > 0 {
			ended = append(ended, <-attempts)
		}
	}
	_, err = db.Exec("select errand.leave($1)", worker)
	check(err)
}

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
