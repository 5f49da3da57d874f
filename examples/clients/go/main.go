// Starts a run of a Switchyard agent and prints its answer: go run . AGENT INPUT
//
// go mod init start-run && go get github.com/nats-io/nats.go
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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

	js, err := jetstream.New(nc)
	check(err)
	ctx := context.Background()

	runID := "go-" + nuid.Next() // publishing it again is the same run, not another one
	command, err := json.Marshal(map[string]string{"input": os.Args[2], "runId": runID})
	check(err)
	_, err = js.Publish(ctx, "yard.cmd."+user+".run.start."+os.Args[1], command)
	check(err)

	// Events are read from the stream: a plain subscription also receives what other users have the server deliver to it.
	consumer := makeConsumer(ctx, js, user, "yard.evt.run."+user+"."+runID+".*")
	events, err := consumer.Messages()
	check(err)
	exitCode := 0
	for {
		message, err := events.Next()
		check(err)
		name := message.Subject()[strings.LastIndex(message.Subject(), ".")+1:]
		fmt.Fprintln(os.Stderr, name)
		switch name {
		case "finished":
			var event struct{ Output string }
			check(json.Unmarshal(message.Data(), &event))
			fmt.Println(event.Output)
		case "failed", "cancelled", "dead", "rejected":
			fmt.Println(string(message.Data()))
			exitCode = 1
		default:
			continue
		}
		check(js.DeleteConsumer(ctx, "YARD_EVENTS", consumer.CachedInfo().Name))
		os.Exit(exitCode)
	}
}

// A user's consumers are named {user}-1 to {user}-32: makeConsumer takes the first name that no other program uses.
func makeConsumer(ctx context.Context, js jetstream.JetStream, user, subject string) jetstream.Consumer {
	for number := 1; number <= 32; number++ {
		consumer, err := js.CreateConsumer(ctx, "YARD_EVENTS", jetstream.ConsumerConfig{
			Name:              fmt.Sprintf("%s-%d", user, number),
			FilterSubject:     subject,
			AckPolicy:         jetstream.AckNonePolicy,
			InactiveThreshold: 30 * time.Second,
		})
		if errors.Is(err, jetstream.ErrConsumerExists) {
			continue
		}
		check(err)
		return consumer
	}
	log.Fatal(user + " has 32 consumers of events already")
	return nil
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
