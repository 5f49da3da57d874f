import { z } from "zod";

const LEVELS = ["off", "none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/**
 * The effort with which a model thinks before it answers. `off` is another word for `none`. The provider decides the effect of a
 * level: a model without the level takes the nearest, and one without such a setting ignores it.
 */
export const ThinkingLevel = z.enum(LEVELS);
export type ThinkingLevel = z.infer<typeof ThinkingLevel>;
