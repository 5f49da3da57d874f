import assert from "node:assert/strict";
import { test } from "node:test";
import { grantWords, missingApprovals, votesText } from "./approval-words.ts";

const leads = {
  from: ["group:leads", "ann"],
  count: 2,
  approved: 1,
  notRequester: true,
  escalatesAt: null,
  to: [],
};
const boss = {
  from: null,
  count: 1,
  approved: 0,
  notRequester: false,
  escalatesAt: "2026-12-01T10:00:00.000Z",
  to: ["boss"],
};

test("an approval states how many of the needed approvals there are, and whose are missing", () => {
  const approval = { requirements: [leads, boss], votes: [{}], needed: 3 };
  assert.equal(votesText(approval), "1 of 3");
  assert.deepEqual(missingApprovals(approval), [
    "1 more of group:leads or ann, and not the requester",
    "1 more of those who may approve, from 2026-12-01T10:00:00.000Z on also boss",
  ]);
  assert.deepEqual(missingApprovals({ requirements: [{ ...leads, approved: 2 }] }), []);
  assert.equal(votesText({ requirements: [], votes: [{}], needed: 1 }), "1 of 1");
});

test("a standing approval names its end, its calls, its tool and its agent in words", () => {
  const grant = {
    usesLeft: 12,
    tool: { server: "files", tool: "edit_file" },
    principal: { agent: "payments", user: "team-a" },
    sameArguments: [],
  };
  assert.equal(
    grantWords(grant, "15:30"),
    "until 15:30, for 12 more calls of files.edit_file by agent payments",
  );
  const byHand = { ...grant, usesLeft: 1, principal: { agent: null, user: "ann" } };
  assert.equal(
    grantWords({ ...byHand, sameArguments: ["/path"] }, "15:30"),
    "until 15:30, for 1 more call of files.edit_file by user ann with the same /path",
  );
});
