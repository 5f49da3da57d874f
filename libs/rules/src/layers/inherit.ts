import { stricterTier, type ApprovalTier } from "@switchyard/contracts/policy/approval-tier";
import {
  MAX_RUN_DEPTH,
  runsAbove,
  type RunContext,
  type RunOrigin,
} from "@switchyard/contracts/agent-runner/run-context";
import {
  distinctLayers,
  MAX_TOOL_LAYERS,
  type RunTokenClaims,
} from "@switchyard/contracts/policy/run-token";
import { RunTokenError } from "@switchyard/service/run-token";

interface Asked {
  readonly requester: string;
  readonly tools: RunTokenClaims["tools"];
  readonly approval?: ApprovalTier | undefined;
  readonly origin?: RunOrigin | undefined;
  readonly parentToken?: string | undefined;
}

/** The facts about a run, beside its agent, that a token may contain. */
export type Inherited =
  | {
      readonly kind: "inherited";
      readonly tools: RunTokenClaims["tools"];
      /** The least approval that each call requires; absent when neither agent sets it. */
      readonly approval?: ApprovalTier;
      readonly context: RunContext | null;
      /** The agent whose run starts it; null when no run does. */
      readonly parentAgent: string | null;
    }
  | { readonly kind: "refused"; readonly reason: string; readonly message: string };

/**
 * Returns what a run inherits from the run that started it: its tool layers in addition to the run's own, its origin, its
 * session, one more level of depth, and that it was dictated. Only the model is the run's own. A run that no other run started
 * has the values it was given.
 */
export async function inherit(
  verify: (token: string) => Promise<RunTokenClaims>,
  { requester, tools, approval, origin = {}, parentToken }: Asked,
): Promise<Inherited> {
  if (parentToken === undefined)
    return {
      kind: "inherited",
      tools,
      ...(approval && { approval }),
      context: Object.keys(origin).length === 0 ? null : origin,
      parentAgent: null,
    };
  const parent = await verified(verify, parentToken);
  if (parent instanceof RunTokenError)
    return { kind: "refused", reason: parent.reason, message: `parentToken: ${parent.message}` };
  if (parent.requester !== requester) {
    const message = `the run that starts this one was started by ${parent.requester}, not by ${requester}`;
    return { kind: "refused", reason: "requester", message };
  }
  const {
    channel,
    group,
    chat,
    owner,
    session,
    depth = 0,
    root = parent.run,
  } = parent.context ?? {};
  const { replayed = origin.replayed, dictatedBy = origin.dictatedBy } = parent.context ?? {};
  if (depth >= MAX_RUN_DEPTH) {
    const message = `runs stand at most ${MAX_RUN_DEPTH} deep`;
    return { kind: "refused", reason: "depth", message };
  }
  const between = runsAbove(parent.context ?? {}).filter((runId) => runId !== root);
  const context: RunContext = {
    ...(channel !== undefined && { channel }),
    ...(group !== undefined && { group }),
    ...(chat !== undefined && { chat }),
    ...(owner !== undefined && { owner }),
    ...(session !== undefined && { session }),
    ...(origin.model !== undefined && { model: origin.model }),
    ...(replayed !== undefined && { replayed }),
    ...(dictatedBy !== undefined && { dictatedBy }),
    parent: parent.run,
    ...(between.length > 0 && { between }),
    root,
    depth: depth + 1,
  };
  const layers = distinctLayers([...parent.tools, ...tools]);
  if (layers.length > MAX_TOOL_LAYERS) {
    const message = `the tools of this run and of those above it are ${layers.length} layers of patterns; a run token holds ${MAX_TOOL_LAYERS}`;
    return { kind: "refused", reason: "layers", message };
  }
  const tier = approval === undefined ? parent.approval : stricterTier(approval, parent.approval);
  return {
    kind: "inherited",
    tools: layers,
    ...(tier && { approval: tier }),
    context,
    parentAgent: parent.sub,
  };
}

async function verified(
  verify: (token: string) => Promise<RunTokenClaims>,
  token: string,
): Promise<RunTokenClaims | RunTokenError> {
  try {
    return await verify(token);
  } catch (error) {
    if (error instanceof RunTokenError) return error;
    throw error;
  }
}
