import { AgentName, CallerName, RunId, ServerId, Timestamp } from "@switchyard/contracts/ids";
import { listStops } from "@switchyard/contracts/policy/policy-budgets";
import * as users from "@switchyard/contracts/policy/user-tokens";
import { z } from "zod";
import { TEMPLATES } from "../../src/commands/init.ts";
import type { JsonOutputs } from "./output.ts";
import { runEvent } from "./runs.ts";

const { strictObject: strict, array, string, number, int, boolean, union } = z;
const names = array(string());
const count = int().nonnegative();
const maybe = string().nullable();

/** A line of the log; docs/reference/logs.md lists the other fields. */
const logged = z.looseObject({
  level: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]),
  time: z.iso.datetime(),
  service: string(),
  msg: string(),
});

/** Null where a query was impossible. */
const status = strict({
  nats: string(),
  user: CallerName,
  services: names,
  missing: names,
  errors: count,
  approvals: count.nullable(),
  stops: listStops.reply.shape.stops.nullable(),
  unconnectedServers: array(ServerId).nullable(),
  running: count.nullable(),
  suspended: count.nullable(),
  waiting: count.nullable(),
  lastFailures: array(strict({ runId: RunId, agent: AgentName, updatedAt: Timestamp })).nullable(),
});

const answering = strict({
  name: string(),
  id: string(),
  version: string(),
  description: string(),
  endpoints: array(
    strict({
      name: string(),
      subject: string(),
      queue: string(),
      requests: count,
      errors: count,
      averageMs: number().nonnegative(),
    }),
  ),
});

const stream = strict({
  name: string(),
  messages: count,
  bytes: count,
  maxBytes: int(),
  queues: array(strict({ name: string(), waiting: count, inWork: count, redelivered: count })),
});

const keys = strict({
  directory: string(),
  created: names,
  authFile: string(),
  rewritten: boolean(),
  aclFile: string(),
  aclRewritten: boolean(),
});

const check = strict({
  id: string(),
  status: z.enum(["ok", "warning", "failed", "skipped"]),
  summary: string(),
  fix: maybe,
});

const setting = strict({
  name: z.enum(["agent", "model", "context", "color"]),
  value: maybe,
  origin: string(),
});

const overNats = { name: string(), nats: string(), user: maybe, nkeyFile: maybe };
const overHttp = { name: string(), http: z.url(), keyFile: string() };
const removed = strict({ removed: string() });

export const INSTALLATION_OUTPUTS: JsonOutputs = {
  dev: { line: logged },
  init: {
    document: strict({
      directory: string(),
      template: z.enum(TEMPLATES),
      files: names,
      next: names,
    }),
  },
  demo: { line: runEvent },
  doctor: {
    document: strict({
      status: z.enum(["ok", "warning", "failed"]),
      checks: array(check),
      fixed: names,
    }),
  },
  status: { document: status },
  services: { document: strict({ services: array(answering) }) },
  logs: { line: logged },
  "streams list": { document: strict({ streams: array(stream) }) },
  "streams ensure": { document: strict({ created: names, updated: names, left: names }) },
  "keys init": { document: keys },
  "keys rotate": { document: strict({ file: string(), signing: string(), accepted: string() }) },
  "keys api create": { document: users.createUserKey.reply },
  "keys api list": { document: users.listUserKeys.reply },
  "keys api rotate": { document: users.rotateUserKey.reply },
  "keys api revoke": { document: users.revokeUserKey.reply },
  "config list": { document: strict({ settings: array(setting) }) },
  "config get": { document: setting },
  "config set": { document: setting },
  "context list": {
    document: strict({
      current: string(),
      contexts: array(strict({ ...overNats, nats: maybe, http: maybe, keyFile: maybe })),
    }),
  },
  "context add": { document: union([strict(overNats), strict(overHttp)]) },
  "context use": { document: strict({ context: string() }) },
  "context remove": { document: removed },
  login: { document: strict({ ...overHttp, caller: CallerName }) },
  logout: { document: removed },
  completion: { document: strict({ shell: z.enum(["bash", "zsh", "fish"]), script: string() }) },
  help: { document: strict({ subject: string(), text: string() }) },
  version: {
    document: strict({
      yard: string(),
      node: string(),
      services: array(strict({ name: string(), id: string(), version: string() })),
    }),
  },
};
