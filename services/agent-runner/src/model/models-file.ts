import { readFile } from "node:fs/promises";
import { ModelName } from "@switchyard/contracts/ids";
import type { Log } from "@switchyard/service/log";
import { StartError } from "@switchyard/service/start-error";
import { watchFile, type FileWatch } from "@switchyard/service/watch-file";
import { z } from "zod";
import { ModelPrice } from "../core/model-price.ts";
import { CLIS } from "../runtime-host/host-protocol.ts";

const EnvName = z
  .string()
  .regex(/^[A-Z_][A-Z0-9_]{0,127}$/, "must be the name of an environment variable");

/** A key is named, never written here: `apiKeyEnv` is a variable, `apiKeyFile` a file with the key. */
const keySource = { apiKeyEnv: EnvName.optional(), apiKeyFile: z.string().min(1).optional() };
const baseUrl = z.url({ protocol: /^https?$/, error: "must be an http or https URL" });
/** Limits for the requests of all runners together to the provider with this credential. */
const limits = z
  .strictObject({
    requestsPerMinute: z.int().min(1).max(10_000_000).optional(),
    tokensPerMinute: z.int().min(1).max(10_000_000_000).optional(),
  })
  .optional();
const remote = { ...keySource, limits, baseURL: baseUrl.optional() };

const Host = z
  .string()
  .max(255)
  .regex(
    /^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/i,
    "must be a host like api.example.com, *.example.com or host:8443",
  );

/** A coding CLI used as a model. The operator sets its command: an agent cannot name one. */
const runtime = z
  .strictObject({
    type: z.literal("runtime"),
    cli: z.enum(CLIS),
    /** The program and its first arguments; left out: the CLI's usual name. */
    command: z.array(z.string().min(1).max(4_096)).min(1).max(64).optional(),
    /** Variables of the runner's environment that the CLI gets unchanged, beside those of its profile. */
    env: z.record(EnvName, z.string().max(8_192)).default({}),
    /** `off`: the CLI may read everything that the runner may read. */
    sandbox: z.enum(["bubblewrap", "off"]).default("bubblewrap"),
    /**
     * The hosts that the CLI may connect to from its sandbox beside its model: `host`, `host:port`, `*.host`; 443 without a port.
     */
    hosts: z.array(Host).max(64).default([]),
    ...keySource,
    baseURL: baseUrl.optional(),
  })
  .refine(({ cli, command }) => cli !== "acp" || command !== undefined, {
    path: ["command"],
    error: "is needed for acp: the program that speaks the Agent Client Protocol",
  });
export type RuntimeConfig = z.infer<typeof runtime>;

export const ProviderConfig = z.discriminatedUnion("type", [
  runtime,
  z.strictObject({ type: z.literal("anthropic"), ...remote }),
  z.strictObject({ type: z.literal("openai"), ...remote }),
  z.strictObject({ type: z.literal("google"), ...remote }),
  z.strictObject({
    type: z.literal("openai-compatible"),
    ...remote,
    baseURL: baseUrl,
    /** Parameters of each request's query, such as Azure's `api-version`. */
    query: z.record(z.string().regex(/^[\w.-]{1,64}$/), z.string().max(256)).optional(),
    /** The header that has the key in place of `Authorization`, such as Azure's `api-key`. */
    keyHeader: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,63}$/i, "must be the name of a header")
      .optional(),
  }),
]);
export type ProviderConfig = z.infer<typeof ProviderConfig>;

const ProviderName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "must be 1-32 characters of a-z 0-9 -")
  .refine((name) => !["scripted", "replay"].includes(name), "scripted and replay are built in");

const MediaRange = z
  .string()
  .regex(
    /^(?:image|audio|application)\/(?:\*|[a-z0-9.+-]{1,100})$/,
    "must look like image/* or application/pdf",
  );

/** Facts about one model; each field may be left out. */
export const ModelSettings = z.strictObject({
  /** Tokens that its window holds. */
  contextWindow: z.int().min(1_024).max(100_000_000).optional(),
  price: ModelPrice.optional(),
  /** True when its chat template writes the opening tag of its reasoning, so that its text has only the closing tag. */
  startsInReasoning: z.boolean().optional(),
  /**
   * True when requests mark the parts that its provider is to cache, in Anthropic's form; missing: for Anthropic, and for Claude
   * over OpenRouter.
   */
  cacheMarks: z.boolean().optional(),
  /** True when its provider can constrain answers to a JSON Schema; missing: for `openai` alone. */
  structuredOutputs: z.boolean().optional(),
  /** Media types of files that it accepts, such as `image/*`; left out: the types that its provider's usual models accept. */
  accepts: z.array(MediaRange).max(32).optional(),
  /** Models to call instead, in this order, while it cannot be reached. */
  fallbacks: z.array(ModelName).max(8).default([]),
});
export type ModelSettings = z.infer<typeof ModelSettings>;

export const ModelsConfig = z.strictObject({
  /** The model of agents that name none. */
  default: ModelName.default("scripted/plan"),
  /** Models that MCP servers may wish for when they sample, beside the default. */
  sampling: z.array(ModelName).max(32).default([]),
  providers: z.record(ProviderName, ProviderConfig).default({}),
  models: z.record(ModelName, ModelSettings).default({}),
});
export type ModelsConfig = z.infer<typeof ModelsConfig>;

/** The variable with a provider's key when its entry names none; null for one that may need none. */
export const USUAL_KEY_VARIABLES = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  google: "GOOGLE_GENERATIVE_AI_API_KEY",
  "openai-compatible": null,
  runtime: null,
} as const satisfies Record<ProviderConfig["type"], string | null>;

/**
 * The files that models of a provider accept by default, as far as the SDK has a form for them: OpenAI's Responses have none for
 * audio. A model of another provider may accept none; a request that it refuses is repeated without its files.
 */
const USUALLY_ACCEPTED = {
  anthropic: ["image/*", "application/pdf"],
  openai: ["image/*", "application/pdf"],
  google: ["image/*", "audio/*", "application/pdf"],
  "openai-compatible": ["image/*", "audio/wav", "audio/mpeg", "application/pdf"],
  runtime: [],
} as const satisfies Record<ProviderConfig["type"], readonly string[]>;

/** The media types of files that models of a provider accept; none for a plan and a recording, which have no provider. */
export function usuallyAccepted(type: ProviderConfig["type"] | undefined): readonly string[] {
  return type === undefined ? [] : USUALLY_ACCEPTED[type];
}

/** The configuration of a runner without a file: each provider whose usual key is set, and the scripted model as the default. */
export function modelsWithoutFile(env: NodeJS.ProcessEnv): ModelsConfig {
  const types = ["anthropic", "openai", "google"] as const;
  const present = types.filter((type) => (env[USUAL_KEY_VARIABLES[type]] ?? "").trim() !== "");
  const providers = Object.fromEntries(present.map((type) => [type, { type }]));
  return { default: "scripted/plan", sampling: [], providers, models: {} };
}

/**
 * Reads the file of model providers and follows it: the returned configuration is that of the file at each moment, so that the next model call uses
 * a change. What cannot be used is logged, and the configuration before it stays. Rejects with a StartError that names the file and every
 * problem in it.
 */
export async function openModelsFile(
  path: string,
  log: Log,
): Promise<FileWatch & { readonly config: ModelsConfig }> {
  const known = await readText(path);
  let current = parseModels(path, known);
  const watch = watchFile({
    path,
    known,
    onText(text) {
      if (text === null) {
        log.error({ file: path }, "models file cannot be read; the models before it stay in use");
        return;
      }
      try {
        current = parseModels(path, text);
        log.info({ file: path }, "models file reloaded");
      } catch (err) {
        if (!(err instanceof StartError)) throw err;
        log.error(
          { file: path, err },
          "models file is not valid; the models before it stay in use",
        );
      }
    },
    onTrouble: (err) =>
      log.warn({ file: path, err }, "models file is not watched; edits count at the next start"),
  });
  const config: ModelsConfig = {
    get default() {
      return current.default;
    },
    get sampling() {
      return current.sampling;
    },
    get providers() {
      return current.providers;
    },
    get models() {
      return current.models;
    },
  };
  return { config, close: () => watch.close() };
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new StartError(`${path} cannot be read`, {
      hint: "let YARD_MODELS_FILE name a readable file, or unset it to have scripted/plan and the providers whose usual key is set",
      cause,
    });
  }
}

const HINT = "correct the file of model providers; the README of the agent runner describes it";

/** Parses the text of the file; `path` is for the errors. */
export function parseModels(path: string, text: string): ModelsConfig {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new StartError(`${path} is not JSON: ${String(error)}`, { hint: HINT, cause: error });
  }
  const parsed = ModelsConfig.safeParse(json);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      (issue) => `${issue.path.join(".") || "(top)"}: ${ruleOf(issue)}`,
    );
    throw new StartError(`${path} has errors: ${problems.join("; ")}`, { hint: HINT });
  }
  requireProvider(path, parsed.data, { field: "default", model: parsed.data.default });
  for (const [index, model] of parsed.data.sampling.entries())
    requireProvider(path, parsed.data, { field: `sampling.${index}`, model });
  for (const [name, { fallbacks }] of Object.entries(parsed.data.models)) {
    requireProvider(path, parsed.data, { field: `models.${name}`, model: name });
    for (const [index, model] of fallbacks.entries())
      requireProvider(path, parsed.data, { field: `models.${name}.fallbacks.${index}`, model });
  }
  return parsed.data;
}

function requireProvider(
  path: string,
  { providers }: ModelsConfig,
  { field, model }: { field: string; model: string },
): void {
  const [provider = ""] = model.split("/");
  if (provider === "scripted" || Object.hasOwn(providers, provider)) return;
  throw new StartError(
    `${path} has errors: ${field}: there is no provider "${provider}" under "providers"`,
    { hint: HINT },
  );
}

/** The rule that a key of a record broke lies one level deeper. */
function ruleOf(issue: z.core.$ZodIssue): string {
  return issue.code === "invalid_key" ? (issue.issues[0]?.message ?? issue.message) : issue.message;
}
