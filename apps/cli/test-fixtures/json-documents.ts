import * as agents from "@switchyard/contracts/agents";
import { listApprovals } from "@switchyard/contracts/approvals";
import { listTools } from "@switchyard/contracts/mcp";
import * as pins from "@switchyard/contracts/mcp-pins";
import { listQuestions as listMcpQuestions } from "@switchyard/contracts/mcp-questions";
import * as servers from "@switchyard/contracts/mcp-servers";
import { Decision } from "@switchyard/contracts/policy";
import * as budgets from "@switchyard/contracts/policy-budgets";
import * as bundles from "@switchyard/contracts/policy-bundles";
import { explainPolicy } from "@switchyard/contracts/policy-explain";
import { listTokenKeys } from "@switchyard/contracts/policy-grants";
import { listQuestions } from "@switchyard/contracts/run-waits";
import { listDeadRuns, listRuns } from "@switchyard/contracts/runs";
import { listGrants } from "@switchyard/contracts/session-grants";
import * as catalogue from "@switchyard/contracts/skill-catalogue";
import * as store from "@switchyard/contracts/skill-store";
import * as skills from "@switchyard/contracts/skills";
import { listBuiltins } from "@switchyard/contracts/toolbox";
import * as users from "@switchyard/contracts/user-tokens";
import { z } from "zod";

const { strictObject: document, looseObject: foreign, array, string, number, boolean } = z;
const names = array(string());
const maybe = string().nullable();
const judged = document({
  valid: boolean(),
  policyDigest: maybe,
  rules: number(),
  problems: array(foreign({})),
  tests: array(
    document({ name: string(), line: number(), passed: boolean(), message: maybe, file: string() }),
  ),
  findings: array(foreign({})),
  coverage: document({ covered: names, untested: names }),
});
const keys = document({
  directory: string(),
  created: names,
  authFile: string(),
  rewritten: boolean(),
  aclFile: string(),
  aclRewritten: boolean(),
});
const setting = document({ name: string(), value: maybe, origin: string() });
const audited = foreign({ v: number(), writer: string(), seq: number(), hash: string() });
/** What is said of a run as it happens. */
const told = document({
  event: string(),
  subject: string(),
  sequence: number(),
  time: z.iso.datetime(),
  payload: foreign({ runId: string() }),
});
const imported = foreign({ schemaVersion: z.literal(1), type: string() });

/** What `data` is of the one document that a command prints with --json. Scripts rely on it: what changes here changes `schemaVersion`. */
export const DOCUMENTS: Readonly<Record<string, z.ZodType>> = {
  "runs list": listRuns.reply,
  "runs dead": listDeadRuns.reply,
  "runs questions": listQuestions.reply,
  "mcp list": servers.listServers.reply,
  "mcp get": servers.getServer.reply,
  "mcp check": document({ ok: boolean(), servers: array(foreign({ id: string() })) }),
  "mcp logs": servers.serverLogs.reply,
  "mcp reset": servers.resetServer.reply,
  "mcp refresh": pins.refreshTools.reply,
  "mcp pins list": pins.listPins.reply.omit({ more: true }),
  "mcp tools": z.union([
    listTools.reply,
    document({
      user: string(),
      tools: array(
        document({
          name: string(),
          server: string(),
          pin: string(),
          decision: string(),
          rule: maybe,
          reason: string(),
        }),
      ),
    }),
  ]),
  "mcp resources list": document({ resources: array(foreign({ uri: string() })), more: boolean() }),
  "mcp resources templates": document({
    templates: array(foreign({ uriTemplate: string() })),
    more: boolean(),
  }),
  "mcp prompts list": document({ prompts: array(foreign({ name: string() })), more: boolean() }),
  "mcp questions list": listMcpQuestions.reply,
  "tools list": listBuiltins.reply,
  "policy explain": explainPolicy.reply,
  "policy check": Decision,
  "policy who-can": bundles.whoCanCall.reply,
  "policy versions": bundles.listPolicyVersions.reply,
  "policy keys": listTokenKeys.reply,
  "policy stop": budgets.stopCalls.reply,
  "policy resume": budgets.resumeCalls.reply,
  "policy stops": budgets.listStops.reply,
  "policy test": judged,
  "policy lint": judged,
  "approvals list": listApprovals.reply,
  "grants list": listGrants.reply,
  "audit verify": document({
    messages: number(),
    records: number(),
    repeated: number(),
    strays: document({ count: number(), first: z.unknown() }),
    breaks: array(foreign({})),
    chains: array(foreign({ writer: string(), service: string(), from: number(), to: number() })),
    calls: document({
      executions: number(),
      proven: number(),
      openEnds: number(),
      findings: array(foreign({})),
    }),
  }),
  "agents list": agents.listAgents.reply,
  "agents show": agents.getAgent.reply,
  "skills list": z.union([skills.listSkills.reply, catalogue.skillCatalogue.reply]),
  "skills show": foreign({
    skill: foreign({ name: string(), body: string() }),
    variables: names,
    conformance: array(foreign({ target: string(), conforms: boolean() })),
  }),
  "skills render": skills.renderSkill.reply,
  "skills match": catalogue.matchSkills.reply,
  "skills manifest": catalogue.skillManifests.reply.pick({ skills: true }),
  "skills versions": store.listVersions.reply,
  "skills withheld": store.listWithheld.reply,
  status: document({
    nats: string(),
    user: string(),
    services: names,
    missing: names,
    errors: number(),
    approvals: number(),
    stops: array(foreign({})),
    unconnectedServers: array(z.unknown()),
    running: number(),
    waiting: number(),
    lastFailures: array(foreign({})),
  }),
  services: document({
    services: array(
      foreign({ name: string(), id: string(), version: string(), endpoints: array(foreign({})) }),
    ),
  }),
  "streams list": document({
    streams: array(
      document({
        name: string(),
        messages: number(),
        bytes: number(),
        maxBytes: number(),
        queues: array(foreign({})),
      }),
    ),
  }),
  "keys api create": users.createUserKey.reply,
  "keys api list": users.listUserKeys.reply,
  "keys init": keys,
  "config list": document({ settings: array(setting) }),
  "config get": setting,
  help: document({ subject: string(), text: string() }),
  version: document({
    yard: string(),
    node: string(),
    services: array(document({ name: string(), id: string(), version: string() })),
  }),
};

/** What each line is of a command whose output is a stream. */
export const LINES: Readonly<Record<string, z.ZodType>> = {
  run: told,
  logs: foreign({ level: string() }),
  "audit tail": audited,
  "agents import": imported,
  "agents scan": imported,
  "skills import": imported,
  "skills scan": imported,
  "skills validate": imported,
};
