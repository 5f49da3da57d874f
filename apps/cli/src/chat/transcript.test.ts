import assert from "node:assert/strict";
import { test } from "node:test";
import {
  modelResponded,
  toolCompleted,
  toolRequested,
} from "@switchyard/contracts/agent-runner/run-events";
import { storedEvent } from "../../test-fixtures/stored-event.ts";
import { Transcript } from "./transcript.ts";

function shownBy(act: (transcript: Transcript) => void): string {
  let shown = "";
  const transcript = new Transcript({
    write: (text) => (shown += text),
    width: () => 80,
    paint: (_, text) => text,
  });
  act(transcript);
  return shown;
}

const CALLS = [
  storedEvent(modelResponded, { step: 1, text: "", toolCalls: 1 }),
  storedEvent(toolRequested, { tool: "files__read", argsPreview: "{}" }),
  storedEvent(toolCompleted, { isError: false, durationMs: 5, preview: "red", decision: null }),
];

test("text of the next step waits for the cards of the one before, whichever comes first", () => {
  const text = { runId: "r", step: 2, delta: "The answer." };
  const late = shownBy((transcript) => {
    for (const event of CALLS) transcript.event(event);
    transcript.live(text);
    transcript.end();
  });
  assert.match(late, /→ files__read \{\}\n.*✓ .*red\n.*The answer\.\n$/s);
  for (let at = 0; at < CALLS.length; at += 1) {
    const early = shownBy((transcript) => {
      for (const [index, event] of CALLS.entries()) {
        if (index === at) transcript.live(text);
        transcript.event(event);
      }
      transcript.end();
    });
    assert.equal(early, late, `before event ${at}`);
  }
});

test("an answer whose text was held back to the end is shown once", () => {
  const shown = shownBy((transcript) => {
    transcript.event(storedEvent(modelResponded, { step: 1, text: "", toolCalls: 1 }));
    transcript.live({ runId: "r", step: 2, delta: "The ans" });
    transcript.answer("The answer.");
  });
  assert.equal(shown.split("The ans").length, 2, shown);
  assert.match(shown, /The answer\./);
});
