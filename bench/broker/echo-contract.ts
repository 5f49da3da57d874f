import { rpc } from "@switchyard/contracts/define";
import { z } from "zod";

/** A request and a reply of the size and shape of a policy check. */
export const echo = rpc({
  subject: "yard.rpc.{caller}.bench.echo",
  summary: "Answers with what it got.",
  request: z.strictObject({
    onBehalfOf: z.string().min(1),
    tool: z.strictObject({ name: z.string().max(64), server: z.string(), tool: z.string() }),
    args: z.record(z.string(), z.unknown()),
  }),
  reply: z.object({ effect: z.enum(["allow", "deny"]), rule: z.string(), reason: z.string() }),
});

export const request = {
  onBehalfOf: "runner",
  tool: { name: "mcp__files__read_text_file", server: "files", tool: "read_text_file" },
  args: { path: "docs/architecture.md", head: 40 },
};

export const reply = {
  effect: "allow",
  rule: "read-files",
  reason: "rule read-files allows it",
} as const;
