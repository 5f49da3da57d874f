// The OpenAI API of the gateway (BASE, TOKEN) by OpenAI's client for Go: at once, as streams, in a form, and continued.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

const answer = "You said hello. The tool said: This is a simple text"

type solution struct {
	Steps []struct {
		Explanation string `json:"explanation"`
		Output      string `json:"output"`
	} `json:"steps"`
	FinalAnswer string `json:"final_answer"`
}

var schema = map[string]any{
	"type":                 "object",
	"additionalProperties": false,
	"required":             []string{"steps", "final_answer"},
	"properties": map[string]any{
		"steps":        map[string]any{"type": "array", "items": map[string]any{"$ref": "#/$defs/step"}},
		"final_answer": map[string]any{"type": "string"},
	},
	"$defs": map[string]any{"step": map[string]any{
		"type":                 "object",
		"additionalProperties": false,
		"required":             []string{"explanation", "output"},
		"properties": map[string]any{
			"explanation": map[string]any{"type": "string"},
			"output":      map[string]any{"type": "string"},
		},
	}},
}

func main() {
	ctx := context.Background()
	client := openai.NewClient(
		option.WithBaseURL(os.Getenv("BASE")+"/v1"),
		option.WithAPIKey(os.Getenv("TOKEN")),
		option.WithMaxRetries(0),
	)
	ask := openai.ChatCompletionNewParams{
		Model:    "helper",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
	}

	chat, err := client.Chat.Completions.New(ctx, ask)
	check(err)
	expect(chat.Choices[0].Message.Content, answer)
	expect(chat.Choices[0].FinishReason, "stop")

	ask.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(ctx, ask)
	whole := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		if !whole.AddChunk(stream.Current()) {
			check(errors.New("a chunk does not fit the others"))
		}
	}
	check(stream.Err())
	expect(whole.Choices[0].Message.Content, answer)

	format := openai.ResponseFormatJSONSchemaJSONSchemaParam{Name: "solution", Schema: schema, Strict: openai.Bool(true)}
	formed, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model:    "solver",
		Messages: ask.Messages,
		ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{
			OfJSONSchema: &openai.ResponseFormatJSONSchemaParam{JSONSchema: format},
		},
	})
	check(err)
	var solved solution
	check(json.Unmarshal([]byte(formed.Choices[0].Message.Content), &solved))
	expect(solved.FinalAnswer+solved.Steps[0].Output, "4242")

	hello := responses.ResponseNewParamsInputUnion{OfString: openai.String("hello")}
	first, err := client.Responses.New(ctx, responses.ResponseNewParams{Model: "helper", Input: hello})
	check(err)
	expect(first.OutputText(), answer)
	next, err := client.Responses.New(ctx, responses.ResponseNewParams{
		Model:              "helper",
		Input:              responses.ResponseNewParamsInputUnion{OfString: openai.String("and now?")},
		PreviousResponseID: openai.String(first.ID),
	})
	check(err)
	expect(next.OutputText(), "and now?")
	read, err := client.Responses.Get(ctx, first.ID, responses.ResponseGetParams{})
	check(err)
	expect(read.OutputText(), answer)

	events := client.Responses.NewStreaming(ctx, responses.ResponseNewParams{Model: "helper", Input: hello})
	last := ""
	for events.Next() {
		last = events.Current().Type
	}
	check(events.Err())
	expect(last, "response.completed")

	_, err = client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Model: "nobody", Messages: ask.Messages})
	var refused *openai.Error
	if !errors.As(err, &refused) || refused.StatusCode != 404 || refused.Code != "model_not_found" {
		check(fmt.Errorf("an unknown model is %v", err))
	}
	fmt.Println("ok")
}

func expect(text, part string) {
	if !strings.Contains(text, part) {
		check(fmt.Errorf("%q does not have %q", text, part))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
