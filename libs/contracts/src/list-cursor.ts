import { z } from "zod";

/** `next` of the page before, with the same filters. */
export const ListCursor = z
  .string()
  .regex(/^\d{1,16}:[\w~./: -]{1,200}$/, "must be next of the page before");

/** Null when there are no more. Fewer entries than the limit do not mean that: one answer looks at a part of a long list. */
export const NextCursor = z.string().nullable().default(null);
