import { randomBytes, randomUUID } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import {
  questionEnded,
  questionRequested,
  type Question,
} from "@switchyard/contracts/mcp-broker/mcp-questions";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import type { PolicyGate, Requester } from "@switchyard/tool-provider/policy-gate";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import type { LogLevel } from "@switchyard/contracts/mcp-broker/mcp-features";
import type { ConnectionChange, ServerConnection } from "../connection/server-connection.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import {
  resolveServer,
  secretsIn,
  UnsetVariableError,
  type SecretLookup,
} from "../declaration/env-references.ts";
import {
  ASKED_PER_MINUTE,
  featureHooks,
  type FeatureHookDeps,
  type ServerMemory,
} from "./feature-hooks.ts";
import { createFeatureNotifications } from "./feature-notifications.ts";
import { createAskToOpen } from "../server-requests/ask-to-open.ts";
import { createOpenQuestions } from "../server-requests/open-questions.ts";
import { currentQuestions, type QuestionKeeping } from "../server-requests/current-questions.ts";
import { createQuestionStore } from "../server-requests/question-store.ts";
import { createRateLimit } from "../server-requests/rate-limit.ts";
import type { RequestOrigins } from "../server-requests/request-origins.ts";
import { createServerMessages } from "./server-messages.ts";
import { createSubscriptionStore, createSubscriptions } from "./subscriptions.ts";
import type { McpSession } from "../connection/mcp-session.ts";
import type { PoolMember } from "../connection/pool-member.ts";
import { performFeature, type FeatureDeps } from "./perform-feature.ts";
import { hasFeature, requestFeature, supportingSession } from "./request-feature.ts";

export interface FeatureOptions {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The values of `${secret:NAME}` references. */
  readonly secrets: SecretLookup;
  readonly origins: RequestOrigins;
  /** The time for which a question waits for its answer at most, in milliseconds. */
  readonly questionMs: number;
  readonly gate: PolicyGate;
  readonly pool: Pick<ServerPool, "find">;
}

export type Features = ReturnType<typeof startFeatures>;

const SWEEP_MS = 10_000;

/** Starts the features that MCP servers offer and use beside tools. */
export function startFeatures(options: FeatureOptions) {
  const { bus, redis, log, gate, pool, origins, questionMs } = options;
  const now = Date.now;
  const onTrouble = (server: string, err: unknown): void =>
    log.warn({ server, err }, "mcp feature trouble");
  const subscriptions = createSubscriptions({
    store: createSubscriptionStore(redis),
    now,
    onTrouble,
  });
  const levels = createLogLevels(onTrouble);
  const notifications = createFeatureNotifications({ bus, subscriptions, now, onTrouble });
  const report = createQuestionReporter(bus, onTrouble);
  const store = createQuestionStore(redis);
  const questions = createOpenQuestions({
    store,
    holder: randomUUID(),
    now,
    onEnded: report.ended,
    onTrouble: (err) => log.warn({ err }, "mcp questions trouble"),
  });
  const memories = createMemories(options, now);
  const deps: FeatureHookDeps = {
    bus,
    gate,
    origins,
    questions,
    questionMs,
    now,
    newId: () => `q-${randomBytes(8).toString("hex")}`,
    onRequested: report.requested,
    onTrouble,
    notifications,
    rootsOf: (config) =>
      rootsOf(pool.find(config.id)?.connection.entry.config ?? config, options.env),
  };
  const askToOpen = createAskToOpen(deps);
  // Questions of a broker that was killed are lost; their ends are published even when no client lists the questions.
  const keeping: QuestionKeeping = { store, now, onLost: report.ended };
  const lookForLost = (): void =>
    void currentQuestions(keeping).catch((err: unknown) =>
      log.warn({ err }, "mcp questions trouble"),
    );
  lookForLost();
  const sweep = setInterval(() => {
    void subscriptions.sweep((server) => pool.find(server)?.connection.session ?? null);
    lookForLost();
  }, SWEEP_MS);

  return {
    hooksOf: (config: ServerConfig) => featureHooks(deps, config, memories.of(config)),
    /**
     * Has to be called for every change of a connection, also of an instance's: a new one gets the
     * subscriptions and the log level of the one before.
     */
    changed({ kind }: ConnectionChange, connection: ServerConnection): void {
      const { session, entry } = connection;
      if (kind !== "connected" || session === null) return;
      void subscriptions.restore(entry.id, session);
      void levels.restore(entry.id, session);
    },
    /** The server was removed: one that is added under its name later is another one. */
    forget(server: string): void {
      memories.forget(server);
      levels.forget(server);
    },
    subscriptions,
    levels,
    messagesOf: memories.messagesOf,
    /** Creates questions from the addresses that a server wants opened before it executes a call. */
    askToOpen,
    /** The questions of this broker, and those that all brokers store. */
    questions: { ...keeping, open: questions },
    stop(): void {
      clearInterval(sweep);
      notifications.stop();
      questions.stop();
    },
  };
}

function createQuestionReporter(bus: Bus, onTrouble: (server: string, error: unknown) => void) {
  const publish = (
    contract: typeof questionRequested | typeof questionEnded,
    question: Question,
  ) => {
    const { server, id, state, askedFor } = question;
    for (const owner of new Set(askedFor.map(({ user }) => user))) {
      const messageId = `${id}:${owner}:${state}`;
      publishEvent(bus, contract, { owner, id }, { question }, { messageId }).catch(
        (error: unknown) => onTrouble(server, error),
      );
    }
  };
  return {
    requested: (question: Question) => publish(questionRequested, question),
    ended: (question: Question) => publish(questionEnded, question),
  };
}

/** The state of each server; a changed declaration begins anew. */
function createMemories(values: Pick<FeatureOptions, "env" | "secrets">, now: () => number) {
  const memories = new Map<string, { config: ServerConfig; memory: ServerMemory }>();
  return {
    of(config: ServerConfig): ServerMemory {
      const declared = config.instanceOf ?? config;
      const known = memories.get(config.id);
      if (known?.config === declared) return known.memory;
      const memory = {
        messages: createServerMessages({ redact: redactorOf(config, values), now }),
        sampling: createRateLimit(config.sampling.perMinute, now),
        asking: createRateLimit(config.sampling.perMinute + ASKED_PER_MINUTE, now),
      };
      memories.set(config.id, { config: declared, memory });
      return memory;
    },
    forget: (server: string) => void memories.delete(server),
    messagesOf: (server: string) => memories.get(server)?.memory.messages ?? null,
  };
}

function redactorOf(
  config: ServerConfig,
  values: Pick<FeatureOptions, "env" | "secrets">,
): (text: string) => string {
  // A secret may be replaced while the declaration stays the same.
  return secretsIn(config).size === 0
    ? redactorNow(config, values)
    : (text) => redactorNow(config, values)(text);
}

function redactorNow(
  config: ServerConfig,
  { env, secrets }: Pick<FeatureOptions, "env" | "secrets">,
): (text: string) => string {
  try {
    const resolved = resolveServer(config, env, secrets);
    return (text) => resolved.redact(text);
  } catch (error) {
    if (!(error instanceof UnsetVariableError)) throw error;
    return (text) => text; // it is not connected then
  }
}

/** Its own roots, else the workspace of the broker. */
function rootsOf(config: ServerConfig, env: FeatureOptions["env"]): readonly string[] {
  const workspace = env["YARD_WORKSPACE"];
  return config.roots ?? (workspace === undefined || workspace === "" ? [] : [workspace]);
}

const RESTORE_TIMEOUT_MS = 5_000;

/** The levels that were set, so that a new connection of a server gets the one of the last. */
function createLogLevels(onTrouble: (server: string, error: unknown) => void) {
  const levels = new Map<string, LogLevel>();
  return {
    async set(
      deps: FeatureDeps,
      { member, level }: { readonly member: PoolMember; readonly level: LogLevel },
      requester: Requester,
    ): Promise<void> {
      const { connection } = member;
      const server = connection.entry.id;
      const feature = { kind: "logging", server, name: "logging", args: { level } } as const;
      const method = "logging/setLevel";
      await performFeature(deps, { feature, method, requester }, async (call) => {
        await connection.start();
        const session = supportingSession(connection, "logging");
        const request = { method, params: { level }, needs: "logging", call } as const;
        if (!session.wantLogs(level)) await requestFeature(deps.sender, member, request);
        levels.set(server, level);
      });
    },
    forget: (server: string) => void levels.delete(server),
    async restore(server: string, session: McpSession): Promise<void> {
      const level = levels.get(server);
      if (level === undefined || !hasFeature(session.capabilities, "logging")) return;
      if (session.wantLogs(level)) return;
      await session
        .request({ method: "logging/setLevel", params: { level }, timeoutMs: RESTORE_TIMEOUT_MS })
        .catch((error: unknown) => onTrouble(server, error));
    },
  };
}
