import assert from "node:assert/strict";
import { publishedAs } from "./reserved-subjects.ts";
import { test } from "node:test";
import { z } from "zod";
import { filterOf, subjectOf, tokensOf, type Contract } from "./define.ts";
import { allContracts, eventOfSubject, isCommand, isEvent, isRpc } from "./registry.ts";
import { runEvents, runStarted } from "./agent-runner/run-events.ts";
import { startRun } from "./agent-runner/runs.ts";
import {
  allConsumers,
  allStreams,
  auditStream,
  commandStream,
  eventStream,
  factStream,
  runCommands,
} from "@switchyard/topology/streams";

test("gives every contract a name and a subject of its own", () => {
  for (const kind of ["rpc", "command", "event", "live"] as const) {
    const ofKind = allContracts.filter((contract) => contract.kind === kind);
    assert.ok(ofKind.length > 0, kind);
    assert.equal(new Set(ofKind.map((contract) => contract.name)).size, ofKind.length, kind);
    assert.equal(new Set(ofKind.map((contract) => filterOf(contract))).size, ofKind.length, kind);
  }
});

test("describes every schema as JSON Schema, as AsyncAPI needs it", () => {
  for (const contract of allContracts) {
    assert.ok(contract.summary.endsWith("."), `${contract.name} has no summary`);
    const schemas =
      contract.kind === "rpc" ? [contract.request, contract.reply] : [contract.payload];
    for (const schema of schemas)
      assert.doesNotThrow(() => z.toJSONSchema(schema, { io: "input" }));
  }
});

test("reports the problems of any request, and never throws", () => {
  for (const { name, request } of allContracts.filter(isRpc)) {
    const properties = request instanceof z.ZodObject ? Object.keys(request.shape) : [];
    for (const value of ["files", 1, null, {}, [], "://"]) {
      const given = Object.fromEntries(properties.map((property) => [property, value]));
      assert.doesNotThrow(() => request.safeParse(given), `${name} with ${JSON.stringify(value)}`);
    }
  }
});

test("finds the event contract of a subject", () => {
  assert.equal(eventOfSubject(subjectOf(runStarted, { owner: "cli", runId: "r1" })), runStarted);
  assert.equal(eventOfSubject("yard.evt.run.cli.r1.exploded"), null);
  assert.equal(
    runEvents.length,
    allContracts.filter((c) => c.name.startsWith("run.") && isEvent(c)).length,
  );
});

test("keeps every command and every event in a stream, and in one only", () => {
  for (const contract of allContracts.filter((c) => isCommand(c) || isEvent(c))) {
    const filter = publishedAs(filterOf(contract));
    const homes = allStreams.filter((stream) =>
      stream.subjects.some((subject) => isWithin(filter, subject)),
    );
    const home = contract.name.startsWith("audit.") ? auditStream : eventHome(contract);
    assert.deepEqual(
      homes.map((stream) => stream.name),
      [isCommand(contract) ? commandStream.name : home.name],
      contract.name,
    );
  }
});

test("events that no publisher could repeat are written before they are acknowledged, and read with those of runs", () => {
  assert.deepEqual(eventStream.subjects, ["yard.evt.run.>"]);
  assert.deepEqual(
    allStreams.filter(({ writesBehind }) => writesBehind === true),
    [eventStream],
  );
  assert.deepEqual(
    eventStream.sources?.map(({ stream }) => stream),
    [factStream.name],
  );
});

/** Runners publish the events of runs again. */
function eventHome({ name }: Contract) {
  return name.startsWith("run.") ? eventStream : factStream;
}

test("hands every command to exactly one consumer: a work queue drops messages that no consumer takes", () => {
  for (const contract of allContracts.filter(isCommand)) {
    const takers = allConsumers.filter((consumer) =>
      isWithin(filterOf(contract), consumer.filterSubject),
    );
    assert.equal(takers.length, 1, contract.name);
  }
  assert.equal(runCommands.stream, commandStream.name);
});

test("reads the caller and the agent from a run command's subject", () => {
  assert.deepEqual(tokensOf(startRun, "yard.cmd.team-a.run.start.researcher"), {
    caller: "team-a",
    agent: "researcher",
  });
});

test("refuses a run command with an undeclared field, or without an input", () => {
  assert.equal(startRun.payload.safeParse({ input: "hello" }).success, true);
  assert.equal(startRun.payload.safeParse({ input: "hello", modle: "x/y" }).success, false);
  assert.equal(startRun.payload.safeParse({}).success, false);
  assert.equal(startRun.payload.safeParse({ input: "" }).success, false);
});

/** True when a subject with wildcards covers only what the other one covers, too. */
function isWithin(filter: string, wider: string): boolean {
  const parts = filter.split(".");
  const wide = wider.split(".");
  return wide.every((part, index) => {
    if (part === ">") return parts.length > index;
    return part === "*" || part === parts[index];
  });
}
