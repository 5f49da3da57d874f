import * as agents from "./agents.ts";
import type { Command, Event, Live, Rpc } from "./define.ts";
import * as mcp from "./mcp.ts";
import * as policy from "./policy.ts";
import { runLive } from "./run-events.ts";
import * as skills from "./skills.ts";
import { allContracts, contractsByOwner, isCommand, isEvent, isRpc } from "./registry.ts";
import { runCommands, type ConsumerDefinition } from "./streams.ts";

/**
 * Who talks to whom. Each entry is one NATS user; the server's permissions are generated from it,
 * so a call that is not written here is refused by the server.
 */
export interface BusUser {
  /** The user's name: its `{caller}` token, and the stem of its inbox. */
  readonly name: string;
  readonly description: string;
  readonly serves: readonly Rpc[];
  readonly calls: readonly Rpc[];
  readonly publishes: readonly (Command | Event | Live)[];
  /** Work queues it takes messages from. */
  readonly consumes: readonly ConsumerDefinition[];
  /** True when it may read every event and the live output of runs. */
  readonly readsEvents: boolean;
  /** True when it creates streams, consumers and buckets. */
  readonly administersStreams: boolean;
  /** Prefix of its inbox subjects; only the anonymous user of a laptop has the clients' default. */
  readonly inboxPrefix: string;
}

const allRpcs = allContracts.filter(isRpc);
/** Of the policy's rpcs clients may ask only what explains; decisions and tokens are for services. */
const explainingRpcs: ReadonlySet<Rpc> = new Set([policy.explainPolicy, policy.validatePolicy]);
const callableByClients = allRpcs.filter(
  (contract) =>
    explainingRpcs.has(contract) ||
    !contractsByOwner.policy.some((owned) => owned.name === contract.name),
);
const allCommands = allContracts.filter(isCommand);

export const serviceUsers: readonly BusUser[] = [
  user("policy", "Policy service", {
    serves: contractsByOwner.policy.filter(isRpc),
    publishes: contractsByOwner.policy.filter(isEvent),
  }),
  user("broker", "MCP broker", {
    serves: contractsByOwner["mcp-broker"].filter(isRpc),
    calls: [policy.checkPolicy, policy.filterPolicy],
    publishes: contractsByOwner["mcp-broker"].filter(isEvent),
  }),
  user("importer", "Skill importer", {
    serves: contractsByOwner["skill-importer"].filter(isRpc),
    publishes: contractsByOwner["skill-importer"].filter(isEvent),
  }),
  user("runner", "Agent runner", {
    serves: contractsByOwner["agent-runner"].filter(isRpc),
    calls: [
      policy.grantRun,
      mcp.listTools,
      mcp.callTool,
      skills.listSkills,
      skills.getSkill,
      skills.renderSkill,
      agents.getAgent,
    ],
    publishes: [...contractsByOwner["agent-runner"].filter(isEvent), runLive],
    consumes: [runCommands],
  }),
];

/** Creates streams and consumers, and nothing else. */
export const adminUser = user("admin", "Creates streams, consumers and buckets", {
  administersStreams: true,
});

/** The command line. */
export const cliUser = client("cli", "Command line");

/**
 * The user of a client without credentials on a laptop, so that any NATS client can start a run
 * there. Production configurations do not have it.
 */
export const anonymousUser: BusUser = {
  ...client("me", "Clients without credentials, on a laptop only"),
  inboxPrefix: "_INBOX",
};

/** A team or program that starts runs, follows them and calls tools under the policy. */
export function client(name: string, description: string): BusUser {
  return user(name, description, {
    calls: callableByClients,
    publishes: allCommands,
    readsEvents: true,
  });
}

function user(name: string, description: string, spec: Partial<BusUser>): BusUser {
  return {
    name,
    description,
    serves: [],
    calls: [],
    publishes: [],
    consumes: [],
    readsEvents: false,
    administersStreams: false,
    inboxPrefix: `_INBOX_${name}`,
    ...spec,
  };
}
