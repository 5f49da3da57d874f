import assert from "node:assert/strict";
import { test } from "node:test";
import { isOldQuestion } from "./old-question.ts";

test("recognises how the SDKs report a question that a connection of 2026-07-28 cannot carry", () => {
  for (const text of [
    "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests.",
    "Cannot send 'sampling/createMessage': this transport context has no back-channel for server-initiated requests.",
    "elicitation via server-initiated requests is unavailable on 2026-07-28 connections.",
    "Server-to-client requests are not available on protocol revision 2026-07-28: 'elicitation/create' cannot be sent while serving a request on that revision. Return inputRequired({ ... }) from the handler instead",
  ])
    assert.equal(isOldQuestion(text), true, text);
});

test("a text that only repeats such a sentence, and another error, is none", () => {
  for (const text of [
    "",
    "no such file: elicitation via server-initiated requests is unavailable on 2026-07-28 connections.",
    "Cannot send 'a letter': this transport context has no back-channel for server-initiated requests.",
    "Server-to-client requests are not available",
    "elicitation is not supported by this client",
  ])
    assert.equal(isOldQuestion(text), false, text);
});
