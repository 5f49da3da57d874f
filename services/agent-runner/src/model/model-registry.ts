import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelProvider } from "@switchyard/contracts/agent-runner/models";
import type { Plan } from "@switchyard/contracts/agent-runner/plan";
import type { Recording } from "@switchyard/contracts/agent-runner/recording";
import type { RunInput } from "@switchyard/contracts/agent-runner/runs";
import { bubblewrapSearch, findBubblewrap } from "@switchyard/service/process/sandbox";
import { LearnedModels, type LearnedFacts } from "./learned-facts.ts";
import type { ModelAnswer } from "./model-request.ts";
import type { ProviderScope } from "./provider-limiter.ts";
import type { ModelPrice } from "../core/model-price.ts";
import { createRuntimeModel } from "../runtime/runtime-model.ts";
import { runtimeHosts, secretPaths } from "./runtime-reach.ts";
import type { RuntimeHosts } from "../runtime/runtime-hosts.ts";
import {
  USUAL_KEY_VARIABLES,
  usuallyAccepted,
  type ModelsConfig,
  type ProviderConfig,
  type RuntimeConfig,
} from "./models-file.ts";
import { compatibleUsage } from "./compatible-usage.ts";
import { providerFetch } from "./provider-fetch.ts";
import { withoutFields } from "./model-failure.ts";
import { withMarksInParts } from "./marks-in-parts.ts";
import { createReplayModel, REPLAY_MODEL } from "./replay-model.ts";
import { createScriptedModel, SCRIPTED_MODEL } from "./scripted-model.ts";

/** A model name that cannot be used; `code` becomes the code of the rejected or failed run. */
export class ModelUnusable extends Error {
  override readonly name = "ModelUnusable";
  readonly code: "unknown_model" | "model_key_missing" | "plan_missing" | "recording_missing";

  constructor(code: ModelUnusable["code"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

export interface ModelRegistry {
  /** The model of agents that name none. */
  readonly defaultModel: string;
  /** The providers to choose from, the built-in one first; whether a key exists is read at each call. */
  providers(): Promise<ModelProvider[]>;
  /**
   * The model of a `provider/model` name. Keys are read each time, so that a rotated key is used by
   * the next run. Rejects with ModelUnusable.
   */
  open(
    name: string,
    run: { plan: Plan | null; input: RunInput; replay?: Recording | undefined },
  ): Promise<LanguageModelV4>;
  /** The facts about a model from the file, with those that this runner learned. */
  factsOf(name: string): ModelFacts;
  /** Facts that this runner learns about models from their refusals; a part of all their facts. */
  readonly learned: Pick<LearnedModels, "noteRefusal" | "noteWindow" | "noteOutage">;
  /**
   * Notes how the text of an answer began. The last answer counts, so a caller who makes a model write a closing tag delays the
   * live text of only one more answer.
   */
  noteAnswer(name: string, answer: Pick<ModelAnswer, "startedInReasoning">): void;
  /** Returns the scope of the limits that apply to a model; null for one that is not a provider's. Rejects with ModelUnusable. */
  scopeOf(name: string): Promise<ProviderScope | null>;
}

export interface ModelFacts {
  readonly contextWindow: number | null;
  readonly price: ModelPrice | null;
  /** Models to call instead while it cannot be reached. */
  readonly fallbacks: readonly string[];
  /** True when the model's text begins inside its reasoning: as the file states, else as in its last answer. */
  readonly startsInReasoning: boolean;
  /** True for a CLI that stores the conversation itself: nothing is compacted for it. */
  readonly isRuntime: boolean;
  /** True for a plan, a recording and a CLI: their answers are used unchanged, even when they are empty. */
  readonly isExact: boolean;
  /** Tokens of a window that a request did not fit into; null: all did. */
  readonly learnedWindow: number | null;
  /** Media types of files that the model accepts, such as `image/*`. */
  readonly accepts: readonly string[];
  /** The earlier answers whose reasoning the provider accepts, as learned from its refusals. */
  readonly reasoningField: LearnedFacts["reasoningField"];
  /**
   * The provider's cache for the beginning of requests: `marks`, it caches the marked parts; `key`, requests with the same key reach
   * the same cache; `own`, it caches by itself, or not at all.
   */
  readonly promptCache: "marks" | "key" | "own";
  /** True when the provider can keep the model to a form of answers, and has not refused it. */
  readonly hasNativeForms: boolean;
  /** True when the provider requires an answer after results of tools, and alternating roles. */
  readonly hasStrictRoles: boolean;
}

export function createModelRegistry(
  /** Read at each use: it may be that of a file that changes. */
  config: ModelsConfig,
  env: NodeJS.ProcessEnv,
  /** Left out: runtimes cannot be used. */
  hosts?: RuntimeHosts,
): ModelRegistry {
  // The SDK prints warnings to the console, which here is the JSON log.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const learned = new LearnedModels();
  return {
    get defaultModel() {
      return config.default;
    },
    learned,
    providers: async () => [
      { name: "scripted", type: "scripted", hasKey: true },
      ...(await Promise.all(
        Object.entries(config.providers).map(([name, settings]) =>
          describedProvider(name, settings, env),
        ),
      )),
    ],
    async open(name, { plan, input, replay }) {
      if (name === SCRIPTED_MODEL) {
        if (plan !== null) return createScriptedModel(plan, input);
        throw new ModelUnusable(
          "plan_missing",
          `${SCRIPTED_MODEL} plays a plan, and neither the agent nor its skill has one; ` +
            "add a plan, or choose a model of a configured provider",
        );
      }
      if (name === REPLAY_MODEL) {
        if (replay !== undefined) return createReplayModel(replay);
        throw new ModelUnusable(
          "recording_missing",
          `${REPLAY_MODEL} plays a recording, and the command has none; name another model`,
        );
      }
      const { provider, settings } = providerOf(name, config);
      const apiKey = await readKey(name, settings, env);
      const refusedFields = () => learned.of(name).refusedFields;
      const modelId = name.slice(provider.length + 1);
      const choice = { name: provider, modelId, apiKey, refusedFields };
      if (settings.type !== "runtime") return openModel(settings, choice);
      if (hosts !== undefined) return openRuntime(settings, choice, { hosts, config, env });
      throw unknownModel(name, config);
    },
    factsOf: (name) => factsOf(name, config, learned),
    noteAnswer(name, { startedInReasoning }) {
      learned.noteAnswered(name);
      // Plans and recordings of all agents have the same name.
      if (startedInReasoning !== null && !isBuiltIn(name))
        learned.note(name, { startsInReasoning: startedInReasoning });
    },
    async scopeOf(name) {
      if (isBuiltIn(name)) return null;
      const { provider, settings } = providerOf(name, config);
      // A CLI calls its provider itself, without limits of ours.
      if (settings.type === "runtime") return null;
      const credential = `${(await readKey(name, settings, env)) ?? ""} ${settings.baseURL ?? ""}`;
      // All runners with the same key share this digest, and the key cannot be derived from it.
      const digest = createHash("sha256").update(credential).digest("hex").slice(0, 16);
      return {
        key: `${provider}:${digest}`,
        requestsPerMinute: settings.limits?.requestsPerMinute ?? null,
        tokensPerMinute: settings.limits?.tokensPerMinute ?? null,
      };
    },
  };
}

/** Merges the facts about the model in the file with those that this runner has learned about it. */
function factsOf(name: string, config: ModelsConfig, learned: LearnedModels): ModelFacts {
  const settings = Object.hasOwn(config.models, name) ? config.models[name] : undefined;
  const type = typeOf(name, config);
  const isRuntime = type === "runtime";
  const { startsInReasoning, windowTokens, reasoningField, takesForms, hasStrictRoles } =
    learned.of(name);
  return {
    contextWindow: settings?.contextWindow ?? null,
    price: settings?.price ?? (isBuiltIn(name) ? FREE : null),
    fallbacks: settings?.fallbacks ?? [],
    startsInReasoning: settings?.startsInReasoning ?? startsInReasoning,
    isRuntime,
    isExact: isRuntime || isBuiltIn(name),
    learnedWindow: windowTokens,
    accepts: settings?.accepts ?? usuallyAccepted(type),
    reasoningField,
    hasStrictRoles,
    promptCache: promptCacheOf(name, config),
    hasNativeForms: takesForms && (settings?.structuredOutputs ?? type === "openai"),
  };
}

const FREE: ModelPrice = { input: 0, output: 0 };

/** True for a plan or a recording: no provider is called and nothing is paid. */
function isBuiltIn(name: string): boolean {
  return name.startsWith("scripted/") || name === REPLAY_MODEL;
}

/**
 * Anthropic's models cache the marked parts, also over OpenRouter: https://openrouter.ai/docs/features/prompt-caching. OpenAI
 * routes requests by their beginning and `prompt_cache_key`: https://platform.openai.com/docs/guides/prompt-caching
 */
function promptCacheOf(
  name: string,
  { providers, models }: ModelsConfig,
): ModelFacts["promptCache"] {
  const [provider = "", maker] = name.split("/");
  const settings = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  const isClaude =
    settings?.type === "anthropic" ||
    (settings?.type === "openai-compatible" &&
      maker === "anthropic" &&
      new URL(settings.baseURL).hostname === "openrouter.ai");
  const { cacheMarks = isClaude } = (Object.hasOwn(models, name) ? models[name] : undefined) ?? {};
  if (cacheMarks) return "marks";
  return settings?.type === "openai" ? "key" : "own";
}

function typeOf(name: string, { providers }: ModelsConfig): ProviderConfig["type"] | undefined {
  const provider = name.slice(0, name.indexOf("/"));
  return Object.hasOwn(providers, provider) ? providers[provider]?.type : undefined;
}

function providerOf(
  name: string,
  config: ModelsConfig,
): { readonly provider: string; readonly settings: ProviderConfig } {
  const provider = name.slice(0, name.indexOf("/"));
  const settings = Object.hasOwn(config.providers, provider)
    ? config.providers[provider]
    : undefined;
  if (settings === undefined) throw unknownModel(name, config);
  return { provider, settings };
}

/** Returns why runs cannot use a model by this name; null when it is of a configured provider. Its key may be missing all the same. */
export function problemOfModel(name: string, config: ModelsConfig): string | null {
  if (name === SCRIPTED_MODEL) return null;
  try {
    providerOf(name, config);
    return null;
  } catch (error) {
    if (error instanceof ModelUnusable) return error.message;
    throw error;
  }
}

async function hasKey(
  provider: string,
  settings: ProviderConfig,
  env: NodeJS.ProcessEnv,
): Promise<boolean> {
  try {
    await readKey(provider, settings, env);
    return true;
  } catch (error) {
    if (error instanceof ModelUnusable) return false;
    throw error;
  }
}

async function describedProvider(
  name: string,
  settings: ProviderConfig,
  env: NodeJS.ProcessEnv,
): Promise<ModelProvider> {
  const provider = { name, type: settings.type, hasKey: await hasKey(name, settings, env) };
  const keyVariable = keyVariableOf(settings);
  return keyVariable === undefined ? provider : { ...provider, keyVariable };
}

/** Undefined for a key in a file, and where none is needed. */
function keyVariableOf({ apiKeyFile, apiKeyEnv, type }: ProviderConfig): string | undefined {
  const variable = apiKeyEnv ?? USUAL_KEY_VARIABLES[type];
  return apiKeyFile === undefined ? (variable ?? undefined) : undefined;
}

async function readKey(
  model: string,
  settings: ProviderConfig,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  if (settings.apiKeyFile !== undefined) return readKeyFile(model, settings.apiKeyFile);
  const variable = settings.apiKeyEnv ?? USUAL_KEY_VARIABLES[settings.type];
  if (variable === null) return null;
  const key = env[variable]?.trim() ?? "";
  if (key !== "") return key;
  throw new ModelUnusable(
    "model_key_missing",
    `model ${model} needs the environment variable ${variable}, which the agent runner does not have`,
  );
}

async function readKeyFile(model: string, path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    throw new ModelUnusable(
      "model_key_missing",
      `model ${model} needs the key file ${path}, which the agent runner cannot read`,
      error,
    );
  }
}

interface ModelChoice {
  /** The provider's name in the configuration. */
  readonly name: string;
  readonly modelId: string;
  readonly apiKey: string | null;
  /** Optional fields of requests that the provider has refused so far. */
  readonly refusedFields: () => readonly string[];
}

/** The model name with which an agent leaves the choice to the CLI. */
const CLI_CHOOSES = "default";

function openRuntime(
  { cli, command = [cli], env: given, sandbox, hosts: more, baseURL }: RuntimeConfig,
  { modelId, apiKey }: ModelChoice,
  {
    hosts,
    config,
    env,
  }: {
    readonly hosts: RuntimeHosts;
    readonly config: ModelsConfig;
    readonly env: NodeJS.ProcessEnv;
  },
): LanguageModelV4 {
  return createRuntimeModel(hosts, {
    cli,
    command,
    env: given,
    model: modelId === CLI_CHOOSES ? null : modelId,
    apiKey,
    baseURL: baseURL ?? null,
    async sandbox() {
      if (sandbox === "off") return null;
      return {
        program: await findBubblewrap(bubblewrapSearch(env)),
        secret: secretPaths(config, env),
        hosts: runtimeHosts({ cli, baseURL, hosts: more }),
      };
    },
  });
}

/** Providers are loaded when they are first used: most runners use one of them. */
async function openModel(
  settings: Exclude<ProviderConfig, RuntimeConfig>,
  choice: ModelChoice,
): Promise<LanguageModelV4> {
  const { name, modelId, refusedFields } = choice;
  const options = {
    ...(choice.apiKey === null ? {} : { apiKey: choice.apiKey }),
    ...(settings.baseURL === undefined ? {} : { baseURL: settings.baseURL }),
    fetch: fetchWithout(refusedFields),
  };
  switch (settings.type) {
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ name, ...options }).languageModel(modelId);
    }
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const { defaultSettingsMiddleware, wrapLanguageModel } = await import("ai");
      // Earlier answers are sent whole, with encrypted reasoning: items that OpenAI stores can be read with the same key alone,
      // and for 30 days.
      const middleware = defaultSettingsMiddleware({
        settings: { providerOptions: { openai: { store: false } } },
      });
      return wrapLanguageModel({
        model: createOpenAI({ name, ...options }).languageModel(modelId),
        middleware,
      });
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google");
      return createGoogle({ name, ...options }).languageModel(modelId);
    }
    case "openai-compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const { apiKey, ...others } = options;
      const { baseURL, query, keyHeader } = settings;
      const provider = createOpenAICompatible({
        name,
        ...others,
        ...(apiKey === undefined || keyHeader !== undefined ? {} : { apiKey }),
        ...(apiKey === undefined || keyHeader === undefined
          ? {}
          : { headers: { [keyHeader]: apiKey } }),
        ...(query === undefined ? {} : { queryParams: query }),
        baseURL,
        convertUsage: compatibleUsage,
        includeUsage: true,
        supportsStructuredOutputs: true,
        transformRequestBody: withMarksInParts,
      });
      return provider.languageModel(modelId);
    }
    default:
      return settings satisfies never;
  }
}

function fetchWithout(refusedFields: () => readonly string[]): typeof fetch {
  return (url, init) => {
    const body = init?.body;
    if (typeof body !== "string") return providerFetch(url, init);
    return providerFetch(url, { ...init, body: withoutFields(body, refusedFields()) });
  };
}

function unknownModel(name: string, config: ModelsConfig): ModelUnusable {
  const known = ["scripted", ...Object.keys(config.providers)].join(", ");
  return new ModelUnusable(
    "unknown_model",
    name.startsWith("scripted/")
      ? `there is no model ${name}: the scripted provider has only ${SCRIPTED_MODEL}`
      : `model ${name} is of no configured provider; configured are ${known}`,
  );
}
