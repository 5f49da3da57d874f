import assert from "node:assert/strict";
import { test } from "node:test";
import { streamTaking } from "./stream-names.ts";
import { allStreams } from "@switchyard/topology/streams";

test("the stream of a subject is the one that is defined with it", () => {
  for (const { name, subjects } of allStreams)
    for (const subject of subjects) assert.equal(streamTaking(subject), name, subject);
  assert.equal(streamTaking("yard.rpc.cli.runs.list"), null);
});
