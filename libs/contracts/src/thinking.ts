import { z } from "zod";

const LEVELS = ["off", "none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/**
 * How much a model thinks before it answers. `off` is another word for `none`. What a level comes to is the provider's: a
 * model that has no such level takes the nearest, and one that has no such setting ignores it.
 */
export const ThinkingLevel = z.enum(LEVELS, { error: `must be one of ${LEVELS.join(", ")}` });
export type ThinkingLevel = z.infer<typeof ThinkingLevel>;
