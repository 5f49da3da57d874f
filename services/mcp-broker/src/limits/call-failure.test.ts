import assert from "node:assert/strict";
import { test } from "node:test";
import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import {
  atTheLogin,
  classifyCallFailure,
  mayNeedNewSession,
  speaksOfSession,
  verdictOf,
  type CallFailure,
} from "./call-failure.ts";

const network = (code: string): Error =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(`connect ${code}`), { code }) });

const failures: [string, unknown, CallFailure["kind"]][] = [
  ["an error that the server answered", new ProtocolError(-32_602, "no such tool"), "answered"],
  ["a result that is none", new SdkError(SdkErrorCode.InvalidResult, "invalid"), "answered"],
  ["silence", new SdkError(SdkErrorCode.RequestTimeout, "timed out"), "timed_out"],
  ["a connection that ended", new SdkError(SdkErrorCode.ConnectionClosed, "closed"), "lost"],
  [
    "a connection that was gone before",
    new SdkError(SdkErrorCode.NotConnected, "none"),
    "not_sent",
  ],
  ["a transport that was gone before", new Error("Not connected"), "not_sent"],
  ["a refused TCP connection", network("ECONNREFUSED"), "not_sent"],
  ["a TCP connection that broke", network("ECONNRESET"), "lost"],
  [
    "HTTP 401",
    new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "no", { status: 401 }),
    "not_sent",
  ],
  [
    "HTTP 502",
    new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "no", { status: 502 }),
    "lost",
  ],
  ["anything unknown", new Error("?"), "lost"],
  ["something that is not an error", "?", "lost"],
];
for (const [what, error, kind] of failures) {
  test(`${what} means ${kind}`, () => {
    assert.equal(classifyCallFailure(error).kind, kind);
  });
}

test("a missing scope and a missing login are refusals before the call, and may not need a new session", () => {
  for (const error of [
    new UnauthorizedError(),
    new InsufficientScopeError({ requiredScope: "write" }),
    atTheLogin(new Error("store is away")),
  ]) {
    assert.equal(classifyCallFailure(error).kind, "not_sent");
    assert.equal(mayNeedNewSession(error, { isStateless: false }), false);
  }
});

test("a session that the server does not have, and a server that cannot be reached, may need a new session", () => {
  const http = (status: number, said = "") =>
    new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, said, { status });
  const [stateful, stateless] = [{ isStateless: false }, { isStateless: true }];
  for (const error of [
    http(404),
    http(410),
    http(400, "No valid session ID"),
    http(401, "Session over"),
  ]) {
    assert.ok(mayNeedNewSession(error, stateful));
    assert.ok(!mayNeedNewSession(error, stateless));
  }
  for (const error of [http(400), http(401), http(403, "session"), http(405), http(429), http(500)])
    assert.ok(!mayNeedNewSession(error, stateful));
  for (const either of [stateful, stateless]) {
    assert.ok(mayNeedNewSession(network("ECONNREFUSED"), either));
    assert.ok(!mayNeedNewSession(network("ECONNRESET"), either));
  }
});

test("an error about a session is distinguished from others", () => {
  for (const message of [
    "Session not found",
    "Invalid or expired session",
    "Server not initialized",
  ])
    assert.ok(speaksOfSession(new Error(message)));
  for (const reason of [new Error("no such city"), { message: 5 }, null])
    assert.ok(!speaksOfSession(reason));
});

test("an answer is no failure of the connection to the server, however malformed it is", () => {
  for (const error of [
    new ProtocolError(-32_603, "no"),
    new SdkError(SdkErrorCode.InvalidResult, "invalid"),
  ])
    assert.equal(verdictOf(error, classifyCallFailure(error)), "good");
});

test("the reason of an answer in a wrong form is a sentence and no list of a validator", () => {
  const dump =
    'Invalid result for tools/call: [\n  {"code": "invalid_type", "path": ["content"]}\n]';
  const { reason } = classifyCallFailure(new SdkError(SdkErrorCode.InvalidResult, dump));
  assert.equal(reason, "the answer to tools/call does not have the form that MCP prescribes");
});

test("the reason of a failed fetch names what is below it", () => {
  assert.equal(
    classifyCallFailure(network("ECONNREFUSED")).reason,
    "fetch failed: connect ECONNREFUSED",
  );
});

test("the reason of a refused request names its status, whatever its body", () => {
  for (const [body, reason] of [
    ["no room", "the server answered HTTP 503: no room"],
    ["", "the server answered HTTP 503"],
  ]) {
    const message = `Error POSTing to endpoint: ${body}`;
    const error = new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, message, { status: 503 });
    assert.equal(classifyCallFailure(error).reason, reason);
  }
});

test("the reason of a refused probe or stream contains the server's message", () => {
  for (const [text, reason] of [
    ["quota of this key is used up", "no (HTTP 403): quota of this key is used up"],
    ["<!DOCTYPE html><html><title>Access denied</title><p>…", "no (HTTP 403): Access denied"],
    ["<html></html>", "no (HTTP 403)"],
    [undefined, "no (HTTP 403)"],
  ]) {
    const error = new SdkHttpError(SdkErrorCode.ClientHttpForbidden, "no (HTTP 403)", {
      status: 403,
      ...(text === undefined ? {} : { text }),
    });
    assert.equal(classifyCallFailure(error).reason, reason);
  }
});
