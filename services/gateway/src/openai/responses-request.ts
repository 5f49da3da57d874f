import { z } from "zod";
import type { Body } from "../routes/read-body.ts";
import { ChatMessage } from "./conversation.ts";
import { invalid } from "./openai-errors.ts";
import {
  Effort,
  only,
  readOptions,
  refused,
  samplingOf,
  sharedOptions,
  type RunSettings,
} from "./options.ts";

export const ApprovalAnswer = z.looseObject({
  type: z.literal("mcp_approval_response"),
  approval_request_id: z.string(),
  approve: z.boolean(),
  reason: z.string().max(500).nullish(),
});
/** Items of an earlier output that clients send back, such as its tool calls: the answer after them contains their result. */
const OtherItem = z.looseObject({
  type: z.string().refine((type) => type !== "message" && type !== "mcp_approval_response"),
});
const NO_LOGPROBS = "message.output_text.logprobs";

/** https://platform.openai.com/docs/api-reference/responses/create */
export const ResponsesRequest = z.strictObject({
  ...sharedOptions,
  input: z.union([
    z.string().min(1),
    z.array(z.union([ApprovalAnswer, ChatMessage, OtherItem])).min(1),
  ]),
  instructions: z.string().nullish(),
  background: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.union([z.string(), z.looseObject({ id: z.string() })]).nullish(),
  text: z
    .strictObject({
      format: z
        .looseObject({ type: z.string(), schema: z.record(z.string(), z.unknown()).optional() })
        .nullish(),
      verbosity: only(
        ["medium"],
        "an agent's answers are as long as its prompt says: leave it out",
      ),
    })
    .nullish(),
  max_output_tokens: z.int().min(1).max(1_000_000).nullish(),
  max_tool_calls: z.int().min(0).max(10_000).nullish(),
  reasoning: z
    .strictObject({
      effort: Effort,
      summary: refused("reasoning is not summarised: leave it out"),
      generate_summary: refused("reasoning is not summarised: leave it out"),
    })
    .nullish(),
  include: z
    .array(
      z.string().refine((what) => what !== NO_LOGPROBS, {
        error: "answers have no logprobs: leave it out",
      }),
    )
    .nullish(),
  store: z.boolean().nullish(),
  // The default of the API is "disabled", and some clients send it: nothing is dropped here with either of them.
  truncation: z.enum(["auto", "disabled"]).nullish(),
  stream_options: z
    .strictObject({ include_obfuscation: only([false], "events are not padded: leave it out") })
    .nullish(),
  context_management: refused("the runner shortens a conversation that is too long: leave it out"),
  access_programs: refused("there are no access programs: leave it out"),
  image: refused("agents take text: leave it out"),
  prompt: refused("an agent has its own prompt: leave it out"),
});
export type ResponsesRequest = z.output<typeof ResponsesRequest>;

/** Returns the checked request. Throws a Problem (400) that names the field which is not accepted. */
export function readResponses(body: Body): ResponsesRequest {
  const request = readOptions(ResponsesRequest, body);
  const { previous_response_id: previous, conversation } = request;
  if (typeof previous === "string" && isSet(conversation))
    throw invalid(
      "conversation",
      "previous_response_id names the conversation: leave one of them out",
    );
  if (request.store === false && request.background === true)
    throw invalid("store", "a response in the background is read later, so it has to be stored");
  return request;
}

/** Returns the settings of a request's run besides its input. */
export function settingsOf(request: ResponsesRequest): RunSettings {
  const sampling = samplingOf({
    temperature: request.temperature,
    topP: request.top_p,
    maxOutputTokens: request.max_output_tokens,
  });
  const { max_tool_calls: maxToolCalls, reasoning } = request;
  return {
    sampling,
    thinking: reasoning?.effort ?? undefined,
    limits: isSet(maxToolCalls) ? { maxToolCalls } : undefined,
  };
}

function isSet<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}
