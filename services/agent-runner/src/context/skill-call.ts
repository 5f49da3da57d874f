import { isError, ServiceError } from "@switchyard/contracts/errors";
import { MAX_TOOL_LAYERS } from "@switchyard/contracts/policy/run-token";
import { renderSkill } from "@switchyard/contracts/skill-importer/skills";
import type { ToolCallPart } from "../core/answer-part.ts";
import { answered, failed, failure, type CallOutcome } from "../core/call-outcome.ts";
import type { CallContext } from "./tool-call.ts";
import { SkillToolInput } from "../core/tool-catalogue.ts";
import { hasRoomFor, narrowingOf } from "../core/tool-narrowing.ts";

/** Activates a skill: the importer renders it, and its text is the result of the call. */
export async function callSkillTool(
  { callId, input: args }: ToolCallPart,
  { run, clients, signal, now }: CallContext,
): Promise<CallOutcome> {
  const { started, narrowings } = run.state;
  const { catalogue, toolLayers, runId, session } = started;
  const input = SkillToolInput.safeParse(args);
  if (!input.success) {
    const problems = input.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    return failure(callId, "invalid_arguments", `skill: ${problems.join("; ")}`);
  }
  const pinned = catalogue.find((skill) => skill.name === input.data.name);
  if (pinned === undefined) {
    const known = catalogue.map((skill) => skill.name).join(", ") || "none";
    return answered(callId, {
      text: `there is no skill ${input.data.name}; available are ${known}`,
      isError: true,
    });
  }
  const startedAt = now();
  try {
    const rendered = await clients.renderSkill(
      {
        name: pinned.name,
        digest: pinned.digest,
        arguments: input.data.arguments,
        sessionId: session?.sessionId ?? runId,
      },
      { signal, correlationId: runId },
    );
    const durationMs = Math.max(0, now() - startedAt);
    const { text, name, digest } = rendered;
    const narrowing = narrowingOf(rendered);
    if (narrowing !== null && !hasRoomFor(narrowing, toolLayers, narrowings)) {
      const said = `skill ${name} leaves out other tools than all skills before it, and a run keeps ${MAX_TOOL_LAYERS} such lists at most; start a run with this skill`;
      return failure(callId, "too_many_restrictions", said);
    }
    return answered(callId, {
      text,
      isError: false,
      durationMs,
      skill: { name, digest },
      ...(narrowing === null ? {} : { narrowing }),
    });
  } catch (error) {
    signal.throwIfAborted();
    if (isError(error, renderSkill, "unknown_skill")) {
      return answered(callId, {
        text: `skill ${pinned.name} is not there any more`,
        isError: true,
      });
    }
    if (error instanceof ServiceError) return failed(callId, error);
    throw error;
  }
}
