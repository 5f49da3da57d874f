import { locate } from "@switchyard/contracts/json-pointer";
import { z } from "zod";
import { pointerTokens, type MessageDocument } from "./message-template.ts";

const Scalar = z.union([z.string().max(4_096), z.number(), z.boolean(), z.null()], {
  error: "must be a text, a number, true, false or null",
});
const Field = z
  .string()
  .max(256)
  .superRefine((pointer, context) => {
    try {
      pointerTokens(pointer);
    } catch (error) {
      context.addIssue({ code: "custom", message: (error as Error).message }); // pointerTokens throws only Errors
    }
  });

/** The condition of a trigger on a message. The operators are those of policies. */
export const MessageCondition = z.discriminatedUnion(
  "op",
  [
    z.strictObject({ field: Field, op: z.literal("eq"), value: Scalar }),
    z.strictObject({ field: Field, op: z.literal("in"), value: z.array(Scalar).min(1).max(1_000) }),
    z.strictObject({ field: Field, op: z.literal("prefix"), value: z.string().min(1).max(4_096) }),
    z.strictObject({ field: Field, op: z.literal("gte"), value: z.number() }),
    z.strictObject({ field: Field, op: z.literal("lte"), value: z.number() }),
    z.strictObject({ field: Field, op: z.literal("absent") }),
  ],
  { error: "must be a mapping with field, op (eq, in, prefix, gte, lte or absent) and value" },
);
export type MessageCondition = z.infer<typeof MessageCondition>;

/** True when the message matches all conditions. A missing field matches only `absent`. */
export function fits(document: MessageDocument, conditions: readonly MessageCondition[]): boolean {
  return conditions.every((condition) => {
    const found = locate(document, pointerTokens(condition.field));
    if (found.kind !== "found") return condition.op === "absent";
    return fitsValue(found.value, condition);
  });
}

function fitsValue(value: unknown, condition: MessageCondition): boolean {
  switch (condition.op) {
    case "eq":
      return value === condition.value;
    case "in":
      return condition.value.some((one) => one === value);
    case "prefix":
      return typeof value === "string" && value.startsWith(condition.value);
    case "gte":
      return typeof value === "number" && value >= condition.value;
    case "lte":
      return typeof value === "number" && value <= condition.value;
    case "absent":
      return false;
    default:
      return condition satisfies never;
  }
}
