import assert from "node:assert/strict";
import { test } from "node:test";
import type { FilePart } from "@switchyard/contracts/agent-runner/content-parts";
import { failuresOf, ServiceError } from "@switchyard/contracts/errors";
import { checkPolicy, type Decision } from "@switchyard/contracts/policy/policy";
import { Suspended } from "../core/interruption.ts";
import { FilesRefused, requireAllowedFiles } from "./input-files.ts";
import { rejectionOf } from "./start-rejection.ts";
import type { RunCommand } from "../commands/run-command.ts";

const fail = failuresOf(checkPolicy.errors);
const policyDigest = `sha256:${"a".repeat(64)}`;
const file = (name: string, mediaType: string): FilePart => ({
  type: "file",
  ref: `file-${"0".repeat(32)}`,
  name,
  mediaType,
  sizeBytes: 7,
  sha256: "0".repeat(64),
});
const png = file("a.png", "image/png");
const wav = file("b.wav", "audio/wav");

function start(files: readonly FilePart[], decide: (asked: FilePart) => Decision) {
  const decided: string[] = [];
  const command = {
    runId: "me~run",
    requester: "me",
    agent: "reader",
    payload: { input: [{ type: "text" as const, text: "look" }, ...files] },
  };
  const services = {
    decideInputFile: async ({ file: given }: { file: { name: string } }) => {
      decided.push(given.name);
      return decide(given as FilePart); // the files of the test
    },
  };
  const { signal } = new AbortController();
  return {
    command,
    decided,
    begin: requireAllowedFiles(command, { clients: services, token: "t", signal }),
  };
}

const denied: Decision = { effect: "deny", rule: "no-wav", reason: "rule no-wav", policyDigest };
const allowed: Decision = { effect: "allow", rule: "all", reason: "rule all", policyDigest };

test("a run begins when the policy allows each of its files", async () => {
  const { begin, decided } = start([png, wav], () => allowed);
  await begin;
  assert.deepEqual(decided, ["a.png", "b.wav"]);
});

test("a refused file rejects the run with its name, type, size and the rule, and without the files that are allowed", async () => {
  const { begin, command } = start([png, wav], ({ name }) => (name === "b.wav" ? denied : allowed));
  const error = await begin.catch((refusal: unknown) => refusal);
  assert.ok(error instanceof FilesRefused);
  const rejection = rejectionOf(command as unknown as RunCommand, error); // only its agent is read
  assert.equal(rejection?.code, "file_not_allowed");
  assert.match(
    rejection.message,
    /user me .* agent reader: b\.wav \(audio\/wav, 7 bytes\): rule no-wav/,
  );
  assert.doesNotMatch(rejection.message, /a\.png/);
  assert.equal(rejection.problems.length, 1);
});

test("a file for which the rules want an approval is refused, since the input of a run cannot wait for a person", async () => {
  const asked: Decision = { ...allowed, effect: "ask", tier: "always" };
  await assert.rejects(start([png], () => asked).begin, /can get no approval/);
});

test("while the policy cannot decide about files the run is suspended, and neither refused nor begun", async () => {
  for (const error of [
    fail.stops_unknown("no stops", null),
    fail.audit_unavailable("no audit", { cause: "x" }),
    fail.invalid_token("no token", { reason: "expired" }),
  ]) {
    const { begin } = start([png], () => {
      throw error;
    });
    await assert.rejects(begin, Suspended);
  }
  const outage = new ServiceError("timeout", "no answer");
  const { begin } = start([png], () => {
    throw outage;
  });
  await assert.rejects(begin, outage);
});
