import { getAgent } from "@switchyard/contracts/skill-importer/agents";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { grantRun } from "@switchyard/contracts/policy/policy-grants";
import { MAX_TOOL_LAYERS } from "@switchyard/contracts/policy/run-token";
import { renderSkill } from "@switchyard/contracts/skill-importer/skills";
import type { Rejection, RunCommand } from "../commands/run-command.ts";
import { ModelUnusable } from "../model/model-registry.ts";
import { isOutage } from "../context/service-clients.ts";
import { FilesRefused, UnknownFiles } from "./input-files.ts";
import { SkillForModels, SkillOff } from "./rendered-skills.ts";

/** Thrown when the tools of an agent and of the run that sent its message are more layers than a run token holds. */
export class TooManyLayers extends Error {
  override readonly name = "TooManyLayers";

  constructor(layers: number) {
    super(
      `the tools of this run and of the run that sent its message are ${layers} layers of patterns; a run token holds ${MAX_TOOL_LAYERS}`,
    );
  }
}

/** The correction that the sender must make; null for outages and faults. */
export function rejectionOf(command: RunCommand, error: unknown): Rejection | null {
  if (error instanceof ModelUnusable)
    return { code: error.code, message: error.message, problems: [] };
  if (error instanceof UnknownFiles)
    return { code: "unknown_file", message: error.message, problems: error.problems };
  if (error instanceof FilesRefused)
    return { code: "file_not_allowed", message: error.message, problems: error.problems };
  if (error instanceof TooManyLayers)
    return { code: "too_many_layers", message: error.message, problems: [] };
  if (error instanceof SkillForModels)
    return {
      code: "skill_not_invocable",
      message: error.message,
      problems: ["skill: names a skill that only a model may activate"],
    };
  if (error instanceof SkillOff)
    return {
      code: "skill_off",
      message: error.message,
      problems: ["skill: names a skill that the session does without"],
    };
  if (isError(error, getAgent, "unknown_agent")) {
    return {
      code: error.code,
      message: `there is no agent ${command.agent}; known are ${error.data.known.join(", ") || "none"}`,
      problems: [],
    };
  }
  if (isError(error, renderSkill, "unknown_skill")) {
    return {
      code: error.code,
      message: `there is no skill ${error.data.name}; known are ${error.data.known.join(", ") || "none"}`,
      problems: ["skill: names no imported skill"],
    };
  }
  if (
    isError(error, grantRun, "may_not_start") ||
    isError(error, grantRun, "may_not_replay") ||
    isError(error, grantRun, "origin_refused") ||
    isError(error, grantRun, "stopped")
  )
    return { code: error.code, message: error.message, problems: [] };
  if (error instanceof ServiceError && !isOutage(error)) {
    return {
      code: "not_startable",
      message: `the run could not be prepared: ${error.message}`,
      problems: [],
    };
  }
  return null;
}
