import { cutText } from "@switchyard/contracts/cut-text";
import { RESTARTS, type Restartable } from "@switchyard/contracts/restarts";
import type { CurrentSettings } from "@switchyard/service/settings-file";
import { z } from "zod";
import { defineTool, type Tool, type ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { fileChanges } from "../workspace/file-changes.ts";
import { changesBetween, mergePatch, valueOfKey } from "./config-changes.ts";
import { configFiles, type ConfigFiles } from "./config-files.ts";
import { checkChanges, writableSchema } from "./config-rules.ts";
import type { Json } from "./config-value.ts";
import { jsonResult } from "./json-result.ts";
import { resultText, type Restarts, type RestartRequest } from "./restarts.ts";
import { CallerSession, SessionText } from "./session-tools.ts";
import type { ToolSettings } from "./tool-settings.ts";

/** The service that reads each part, and when. */
const READERS = {
  models: { service: "runner", file: "models.json", reads: "by itself when it changes" },
  channels: { service: "channels", file: "channels.json", reads: "by itself when it changes" },
  triggers: { service: "scheduler", file: "triggers.yaml", reads: "when it starts" },
  agents: { service: "importer", file: "agents/", reads: "by itself when it changes" },
} as const;
type Part = keyof typeof READERS;
const SERVICES = Object.values(READERS).map(({ service }) => service);

/** Larger answers are of no use to a model. */
const MAX_SHOWN = 200_000;
const Note = z.string().max(200).optional();
const Key = z.string().max(1_024).optional();
const BaseHash = z
  .string()
  .max(128)
  .optional()
  .describe("hash of gateway_config_get: refused when the configuration is another one since");
const Config = z.record(z.string(), z.unknown());
const NotTaken = z.unknown().optional().describe("Not taken: gateway_restart has it");
const writeShape = {
  baseHash: BaseHash,
  note: Note,
  restartDelayMs: NotTaken,
  sessionKey: NotTaken,
};

/**
 * The tools for the configuration files of a project [F30-F34]; for owners alone. Without a directory they are not listed, and a
 * call returns the reason.
 */
export function createGatewayTools({
  directory,
  restarts,
  isRestartPermitted,
  settings,
}: {
  readonly directory: string | undefined;
  /** The settings name what may be changed. */
  readonly settings: CurrentSettings<ToolSettings>;
  readonly restarts: Restarts;
  /** `YARD_RESTARTS` of the toolbox. */
  readonly isRestartPermitted: boolean;
}): readonly Tool[] {
  const unavailable =
    directory === undefined
      ? "This installation gives the toolbox no configuration directory (YARD_CONFIG_DIR), so gateway_* cannot read or change it; a person has to."
      : undefined;
  const files = configFiles(directory ?? "");
  const parts = { files, settings, turn: `config:${directory}` };
  const tools = [getTool(files), schemaTool(settings), ...writeTools(parts)];
  return [
    ...tools.map((tool) => Object.assign(tool, { unavailable })),
    Object.assign(restartTool(restarts, isRestartPermitted), {
      unavailable: isRestartPermitted ? undefined : unavailable,
    }),
  ];
}

function getTool(files: ConfigFiles): Tool {
  return defineTool({
    name: "gateway_config_get",
    description:
      "Reads Switchyard's configuration without secrets: models, channels, triggers and the prompts and models of agents.",
    input: z.strictObject({
      key: Key.describe("A dot path, such as models.default. Left out: all of it"),
    }),
    async run({ key }) {
      const { hash, config: all } = await files.read();
      const config = key === undefined || key === "" ? all : valueOfKey(all, key);
      if (config === undefined)
        throw new ToolError(`config path not found: ${cutText(String(key), 200)}`);
      const raw = JSON.stringify(config, null, 2);
      if (raw.length > MAX_SHOWN)
        throw new ToolError(
          `That is more than ${MAX_SHOWN} characters; name a part with key: ${namesIn(config)}`,
        );
      return jsonResult({ hash, raw, config });
    },
  }) as Tool; // of its own arguments
}

function namesIn(config: Json): string {
  return Object.keys(Object(config)).slice(0, 50).join(", ");
}

function schemaTool(settings: Writing["settings"]): Tool {
  return defineTool({
    name: "gateway_config_schema",
    description: "Describes the configuration that can be changed, and its values, as JSON Schema.",
    input: z.strictObject({
      path: Key.describe("A dot path that limits the reply to what is below it"),
    }),
    async run({ path = "" }) {
      const writable = writableSchema(path, (await settings()).gateway.writable);
      if (Object.keys(writable).length === 0)
        throw new ToolError(
          `config schema path not found: ${path.slice(0, 200)}; nothing there can be changed`,
        );
      return jsonResult({ writable, protected: "everything else", READERS });
    },
  }) as Tool; // as above
}

interface Writing {
  readonly files: ConfigFiles;
  readonly settings: CurrentSettings<ToolSettings>;
  /** Changes under the same name are made one after the other. */
  readonly turn: string;
}

function writeTools(parts: Writing): readonly Tool[] {
  const apply = defineTool({
    name: "gateway_config_apply",
    description:
      "Makes the configuration what config says, which is all of it as gateway_config_get shows it, with changes.",
    input: z.strictObject({ config: Config, ...writeShape }),
    run: ({ config, ...about }) =>
      write({ ...parts, action: "apply", about, wanted: () => config as Json }), // the value was parsed from JSON
  });
  const patch = defineTool({
    name: "gateway_config_patch",
    description:
      "Changes parts of the configuration by a merge patch: null takes a value away, lists of objects are merged by id.",
    input: z.strictObject({ patches: Config, ...writeShape }),
    run: ({ patches, ...about }) =>
      write({
        ...parts,
        action: "patch",
        about,
        wanted: (before) => mergePatch(before, patches as Json), // as above
      }),
  });
  return [apply, patch] as readonly Tool[]; // as above
}

/** Values are not in the answer. */
function write(
  options: Writing & {
    readonly action: "apply" | "patch";
    readonly about: {
      readonly baseHash?: string | undefined;
      readonly restartDelayMs?: unknown;
      readonly sessionKey?: unknown;
    };
    readonly wanted: (before: Json) => Json;
  },
) {
  const { files, settings, turn, action, about, wanted } = options;
  const { baseHash } = about;
  if (baseHash === undefined)
    return Promise.reject(
      new ToolError(
        "Missing baseHash from config snapshot. Give the hash that gateway_config_get shows. Nothing was changed.",
      ),
    );
  // A caller who may change a file need not be allowed to restart a service.
  for (const name of ["restartDelayMs", "sessionKey"] as const)
    if (about[name] !== undefined)
      return Promise.reject(
        new ToolError(
          `gateway_config_${action} restarts nothing, so ${name} is not taken: the answer lists what needs a restart, and gateway_restart has delayMs and sessionKey. Nothing was changed.`,
        ),
      );
  return fileChanges.run(async () => {
    const snapshot = await files.read();
    if (baseHash !== snapshot.hash)
      throw new ToolError(
        "config changed since last load; call gateway_config_get again and retry. Nothing was changed.",
      );
    const { config } = snapshot;
    const changes = changesBetween(config, wanted(config));
    if (changes.length === 0) return jsonResult({ ok: true, noop: true, hash: snapshot.hash });
    const { writable } = (await settings()).gateway;
    checkChanges(changes, { action, config, writable });
    const written = await files.write(snapshot, changes);
    const { hash } = await files.read();
    const parts = new Set(changes.map(({ path }) => path[0]));
    const services = Object.entries(READERS)
      .filter(([part]) => parts.has(part))
      .map(([part]) => inForce(part as Part)); // one of its own keys
    const changed = changes.map(({ path }) => path.join("."));
    return jsonResult({ ok: true, noop: false, hash, changed, files: written, services });
  }, turn);
}

function inForce(part: Part) {
  const { service, file, reads } = READERS[part];
  const needsRestart = reads === "when it starts";
  const how = `gateway_restart with service: ${service}; or a person restarts it`;
  return { service, file, reads, needsRestart, ...(needsRestart && { how }) };
}

function restartTool(restarts: Restarts, isPermitted: boolean): Tool {
  return defineTool({
    name: "gateway_restart",
    description:
      "Restarts scheduler, which reads its part of the configuration (triggers) when it starts, or runner, as after a change of its environment; without service both. Runs that are under way continue after it. If it takes longer than the call, the result comes as a message in your session.",
    input: z.strictObject({
      service: z
        .enum(SERVICES)
        .optional()
        .describe("runner, channels and importer read their files again by themselves"),
      reason: Note,
      note: Note,
      delayMs: z
        .int()
        .min(0)
        .max(60_000)
        .default(0)
        .describe("How long the restart waits, at most a minute"),
      sessionKey: SessionText.optional().describe(
        "The session that gets the result; left out: your own session",
      ),
      continuationMessage: z
        .string()
        .min(1)
        .max(2_000)
        .optional()
        .describe("Said in the session behind the result"),
      callerSession: CallerSession,
    }),
    async run({ service, delayMs, sessionKey, reason, note, ...said }, context) {
      const { continuationMessage: continuation = null, callerSession } = said;
      if (service !== undefined && !isRestartable(service))
        return jsonResult({
          ok: true,
          restarted: false,
          service,
          reason: "It reads its files again by itself when they change; no restart is needed.",
        });
      if (!isPermitted)
        throw new ToolError(
          `Gateway restart is disabled (commands.restart=false). Nothing was restarted: YARD_RESTARTS is not set here, so a person restarts the ${service ?? "services"} (docs/operations.md, "Restarts from outside").`,
        );
      const session = sessionKey ?? context.session ?? callerSession ?? null;
      if (continuation !== null && session === null)
        throw new ToolError(
          "continuationMessage needs sessionKey: there is no session of your own.",
        );
      const wish = { delayMs, session, continuation, reason: reason ?? null, note: note ?? null };
      const requested = { reason, note };
      if (service !== undefined)
        return jsonResult({
          ok: true,
          ...(await restartOne(restarts, { ...wish, service }, context)),
          requested,
        });
      return jsonResult({ ...(await restartAll(restarts, wish, context)), requested });
    },
  }) as Tool; // as above
}

/** Restarts every service that can be restarted. Throws a ToolError when none of them was. */
async function restartAll(
  restarts: Restarts,
  wish: Omit<RestartRequest, "service">,
  context: ToolContext,
) {
  const services = Object.keys(RESTARTS).filter((name) => isRestartable(name));
  const results = await Promise.allSettled(
    services.map((service) => restartOne(restarts, { ...wish, service }, context)),
  );
  const faults = results.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  const fault: unknown = faults.find((error) => !(error instanceof ToolError));
  if (fault !== undefined || faults.length === services.length) throw fault ?? faults[0];
  const rows = results.map((one, index) =>
    one.status === "fulfilled"
      ? one.value
      : // All reasons are errors of tools; others were thrown.
        { service: services[index], restarted: false, error: String(one.reason.message) },
  );
  return { ok: faults.length === 0, services: rows };
}

async function restartOne(restarts: Restarts, wish: RestartRequest, context: ToolContext) {
  const { service, delayMs, session } = wish;
  const restarted = await restarts.restart(wish, context);
  if (restarted !== null)
    return { restarted: true, service, ...restarted, text: resultText(service, restarted) };
  const what =
    delayMs === 0
      ? `The restart of the ${service} continues`
      : `The ${service} is restarted ${delayMs} ms after the call`;
  const text =
    session === null
      ? `${what}; yard services shows when it is ready.`
      : `${what}; the result comes as a message in ${session}.`;
  return { restarted: false, underWay: true, service, session, text };
}

function isRestartable(service: string): service is Restartable {
  return service in RESTARTS;
}
