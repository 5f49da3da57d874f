import { z } from "zod";
import type { Wait } from "../core/wait.ts";
import type { OfferedTool } from "../core/tool-catalogue.ts";

const MAX_SECONDS = 30 * 24 * 3_600;

/** Lets time pass; no runner is held meanwhile. */
export const waitTool: OfferedTool = {
  name: "wait",
  description:
    "Waits for a number of seconds before you continue, such as for something outside to happen.",
  inputSchema: {
    type: "object",
    properties: { seconds: { type: "integer", minimum: 1, maximum: MAX_SECONDS } },
    required: ["seconds"],
    additionalProperties: false,
  },
};

const Input = z.strictObject({ seconds: z.int().min(1).max(MAX_SECONDS) });

/** Reads the arguments of the tool; a returned text describes an error in them. */
export function readTimer(args: unknown, now: number): Wait | string {
  const read = Input.safeParse(args);
  if (!read.success)
    return read.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
  return { reason: "timer", until: new Date(now + read.data.seconds * 1_000).toISOString() };
}
