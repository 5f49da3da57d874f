import { z } from "zod";

const data = z.object({ cause: z.string() });

/** Redis does not answer, and what the request is about is there. Nothing was changed that a repetition does not complete. */
export const storeUnavailable = { data, retryable: true } as const;

/** The same for what must not be done twice: it may have been carried out, so look before it is asked again. */
export const storeUnsure = { data, retryable: false } as const;
