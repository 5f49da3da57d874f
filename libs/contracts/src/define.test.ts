import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { z } from "zod";
import { command, event, filterOf, isSubjectToken, rpc, subjectOf, tokensOf } from "./define.ts";

const echo = rpc({
  subject: "yard.rpc.{caller}.demo.echo.{server}",
  summary: "Echoes.",
  request: z.strictObject({}),
  reply: z.object({}),
});

const safeToken = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);

test("derives the name of a contract from its subject", () => {
  assert.equal(echo.name, "demo.echo");
  const parts = { summary: "", request: z.object({}), reply: z.object({}) };
  assert.equal(rpc({ subject: "yard.rpc.{caller}.a.b.c.{d}", ...parts }).name, "a.b.c");
  assert.equal(
    event({
      subject: "yard.evt.run.{owner}.{runId}.tool-denied",
      summary: "",
      payload: z.object({}),
    }).name,
    "run.tool-denied",
  );
  assert.equal(
    command({ subject: "yard.cmd.{caller}.run.start.{agent}", summary: "", payload: z.object({}) })
      .name,
    "run.start",
  );
});

test("refuses a subject template of another kind or shape", () => {
  const parts = { summary: "", request: z.object({}), reply: z.object({}) };
  assert.throws(() => rpc({ subject: "yard.evt.run.{id}.started", ...parts }), /must start with/);
  assert.throws(() => rpc({ subject: "yard.rpc.{caller}.Demo.echo", ...parts }), TypeError);
  assert.throws(() => rpc({ subject: "yard.rpc.{caller}.demo.*", ...parts }), TypeError);
});

test("fills tokens in and reads the same tokens back", () => {
  fc.assert(
    fc.property(safeToken, safeToken, (caller, server) => {
      const subject = subjectOf(echo, { caller, server });
      assert.deepEqual(tokensOf(echo, subject), { caller, server });
    }),
  );
});

test("refuses any token that could change the subject's meaning", () => {
  fc.assert(
    fc.property(
      fc.string().filter((text) => !isSubjectToken(text)),
      (server) => {
        assert.throws(() => subjectOf(echo, { caller: "cli", server }), /subject token \{server\}/);
      },
    ),
  );
});

test("turns tokens that are not given into wildcards", () => {
  assert.equal(filterOf(echo), "yard.rpc.*.demo.echo.*");
  assert.equal(filterOf(echo, { server: "github" }), "yard.rpc.*.demo.echo.github");
});

test("does not read tokens from another contract's subject", () => {
  assert.equal(tokensOf(echo, "yard.rpc.cli.demo.other.github"), null);
  assert.equal(tokensOf(echo, "yard.rpc.cli.demo.echo"), null);
});
