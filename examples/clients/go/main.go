// Starts a run of a Switchyard agent and prints its answer: go run . AGENT INPUT
//
// go mod init start-run && go get github.com/nats-io/nats.go
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: go run . AGENT INPUT")
	}
	user := env("YARD_USER", "me")
	var options []nats.Option
	if seed := os.Getenv("YARD_NATS_NKEY_FILE"); seed != "" {
		key, err := nats.NkeyOptionFromSeed(seed)
		check(err)
		// A user with a key reads replies at an inbox of its own and nowhere else.
		options = append(options, key, nats.CustomInboxPrefix("_INBOX_"+user))
	}
	nc, err := nats.Connect(env("NATS_URL", nats.DefaultURL), options...)
	check(err)
	defer nc.Close()

	runID := "go-" + nuid.Next() // publishing it again is the same run, not another one
	events := make(chan *nats.Msg, 64)
	_, err = nc.ChanSubscribe("yard.evt.run."+user+"."+runID+".*", events)
	check(err)
	js, err := nc.JetStream()
	check(err)
	command, err := json.Marshal(map[string]string{"input": os.Args[2], "runId": runID})
	check(err)
	_, err = js.Publish("yard.cmd."+user+".run.start."+os.Args[1], command)
	check(err)

	for message := range events {
		name := message.Subject[strings.LastIndex(message.Subject, ".")+1:]
		fmt.Fprintln(os.Stderr, name)
		switch name {
		case "finished":
			var event struct{ Output string }
			check(json.Unmarshal(message.Data, &event))
			fmt.Println(event.Output)
			return
		case "failed", "cancelled", "dead", "rejected":
			fmt.Println(string(message.Data))
			os.Exit(1)
		}
	}
}

func env(name, otherwise string) string {
	if value, ok := os.LookupEnv(name); ok {
		return value
	}
	return otherwise
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
