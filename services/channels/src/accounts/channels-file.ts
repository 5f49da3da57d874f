import {
  AccountId,
  ChannelName,
  ProviderId,
  Target,
} from "@switchyard/contracts/channels/channel-address";
import { AgentName, CallerName } from "@switchyard/contracts/ids";
import { BusyPolicy } from "@switchyard/contracts/agent-runner/session-key";
import { z } from "zod";
import type { AdapterDefinition } from "../adapters/adapter.ts";

/** The senders that an account accepts. Owners are always accepted. */
const Policy = z.enum(["open", "allowlist", "disabled"]);
const Names = z.array(z.string().min(1).max(256)).max(10_000);

/** One account of `channels.json`; docs/channels.md explains each field. */
const AccountEntry = z.strictObject({
  enabled: z.boolean().default(true),
  /** The user whose runs the messages become; this user may always use the account. */
  caller: CallerName,
  /** Other users that may send with it; `*` is everybody. */
  callers: z
    .array(z.union([CallerName, z.literal("*")]))
    .max(1_000)
    .default([]),
  /** The agent that answers; without one, messages are stored and published without an answer. */
  agent: AgentName.optional(),
  /** Ids of senders who own the installation. */
  owners: Names.default([]),
  direct: z
    .strictObject({ policy: Policy.default("allowlist"), allow: Names.default([]) })
    .prefault({}),
  groups: z
    .strictObject({
      policy: Policy.default("allowlist"),
      allow: Names.default([]),
      requireMention: z.boolean().default(true),
    })
    .prefault({}),
  /** Groups in which waiting calls are shown with buttons. */
  approvals: z
    .array(
      z.strictObject({
        target: Target,
        threadId: ProviderId.optional(),
        /** The users whose calls are shown; left out, those of `caller` alone. */
        of: z
          .array(z.union([CallerName, z.literal("*")]))
          .min(1)
          .max(1_000)
          .optional(),
      }),
    )
    .max(20)
    .default([]),
  onBusy: BusyPolicy.default("enqueue"),
  /** True makes an answer quote the message that it answers. */
  reply: z.enum(["off", "on"]).default("off"),
  /** The settings of the adapter. */
  config: z.record(z.string(), z.unknown()).default({}),
});
export type AccountEntry = z.output<typeof AccountEntry>;

const ChannelsFile = z.strictObject({
  $schema: z.string().optional(),
  accounts: z.record(ChannelName, z.record(AccountId, z.unknown())),
});

/** An account with all inputs of its adapter. */
export interface AccountSettings {
  readonly channel: string;
  readonly accountId: string;
  readonly entry: AccountEntry;
  readonly adapter: AdapterDefinition;
  /** The result of parsing `config` with `adapter.config`, including secrets. */
  readonly config: unknown;
  /** A text that is equal when the settings are unchanged. It includes secrets. */
  readonly print: string;
}

export interface ReadChannels {
  readonly accounts: readonly AccountSettings[];
  /** Accounts that cannot be used, and why. Values of variables are not in it. */
  readonly refused: readonly { readonly name: string; readonly problem: string }[];
}

/** The whole file makes no sense. */
export class ChannelsFileError extends Error {
  override readonly name = "ChannelsFileError";
}

/** Reads `channels.json`. Throws a ChannelsFileError when no part of it can be used; one invalid account does not affect the others. */
export function readChannelsFile(
  text: string,
  options: {
    readonly fileName: string;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly adapters: ReadonlyMap<string, AdapterDefinition>;
  },
): ReadChannels {
  const { fileName, env, adapters } = options;
  const file = ChannelsFile.safeParse(parsed(text, fileName));
  if (!file.success) throw new ChannelsFileError(`${fileName}: ${problemsOf(file.error)}`);
  const accounts: AccountSettings[] = [];
  const refused: { name: string; problem: string }[] = [];
  for (const [channel, entries] of Object.entries(file.data.accounts))
    for (const [accountId, entry] of Object.entries(entries)) {
      const name = `${channel}/${accountId}`;
      try {
        const settings = readAccount({ channel, accountId, entry }, { env, adapters });
        if (settings.entry.enabled) accounts.push(settings);
      } catch (error) {
        if (!(error instanceof ChannelsFileError)) throw error;
        refused.push({ name, problem: `${fileName}: account ${name}: ${error.message}` });
      }
    }
  return { accounts, refused };
}

/** Reads one account. Throws a ChannelsFileError that explains the mistake. */
export function readAccount(
  { channel, accountId, entry }: { channel: string; accountId: string; entry: unknown },
  {
    env,
    adapters,
  }: {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly adapters: ReadonlyMap<string, AdapterDefinition>;
  },
): AccountSettings {
  const adapter = adapters.get(channel);
  if (adapter === undefined)
    throw new ChannelsFileError(
      `there is no channel ${channel}; there are ${[...adapters.keys()].join(", ")}`,
    );
  const read = AccountEntry.safeParse(entry);
  if (!read.success) throw new ChannelsFileError(problemsOf(read.error));
  const resolved = withVariables(read.data.config, { env, field: "config" });
  const config = adapter.config.safeParse(resolved);
  if (!config.success) throw new ChannelsFileError(problemsOf(config.error, "config"));
  const print = JSON.stringify([read.data, resolved]);
  return { channel, accountId, entry: read.data, adapter, config: config.data, print };
}

function parsed(text: string, fileName: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/, "[^]*$/, "") : "no JSON";
    throw new ChannelsFileError(`${fileName} is not valid JSON: ${reason}`);
  }
}

const REFERENCE = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g;

/** The variables that the accounts of a text name, by `channel/account`. Throws as {@link readChannelsFile} does. */
export function variablesOf(text: string, fileName: string): ReadonlyMap<string, string[]> {
  const file = ChannelsFile.safeParse(parsed(text, fileName));
  if (!file.success) throw new ChannelsFileError(`${fileName}: ${problemsOf(file.error)}`);
  const all = Object.entries(file.data.accounts).flatMap(([channel, entries]) =>
    Object.entries(entries).map(([accountId, entry]): [string, string[]] => {
      const { config = {} } = Object(entry) as { readonly config?: unknown };
      const names = [...JSON.stringify(config).matchAll(REFERENCE)].map(([, name = ""]) => name);
      return [`${channel}/${accountId}`, [...new Set(names)]];
    }),
  );
  return new Map(all);
}

/** Replaces `${VAR}` and `${VAR:-default}` in every text. Errors contain names of unset variables, and never a value. */
function withVariables(
  value: unknown,
  place: { readonly env: Readonly<Record<string, string | undefined>>; readonly field: string },
): unknown {
  const { env, field } = place;
  if (typeof value === "string")
    return value.replaceAll(REFERENCE, (_, name: string, fallback: string | undefined) => {
      const found = env[name];
      if (found !== undefined && (found !== "" || fallback === undefined)) return found;
      if (fallback !== undefined) return fallback;
      throw new ChannelsFileError(
        `environment variable ${name} is not set (used in "${field}"); set it for the channels service, or write \${${name}:-default}`,
      );
    });
  if (Array.isArray(value))
    return value.map((item, index) => withVariables(item, { env, field: `${field}.${index}` }));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      withVariables(item, { env, field: `${field}.${key}` }),
    ]),
  );
}

/** Lists rules and paths without values, which may be secret. */
function problemsOf(error: z.ZodError, under?: string): string {
  return error.issues
    .map(({ path, message, code }) => {
      const where = [...(under === undefined ? [] : [under]), ...path.map(String)].join(".");
      const said = code === "invalid_value" ? message.replace(/, received.*$/, "") : message;
      return where === "" ? said : `${where}: ${said}`;
    })
    .join("; ");
}
