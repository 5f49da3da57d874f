/** The outcome of one attempt to deliver how a run ended. */
export type DeliveryOutcome =
  | { readonly outcome: "delivered" }
  | {
      /** `again`: a retry may succeed. `unknown`: it may have been received, and no answer arrived. */
      readonly outcome: "again" | "unknown" | "refused";
      readonly error: string;
      /** There is no retry, although the outcome is unknown. */
      readonly isFinal?: true;
      /** Nothing was sent: the next attempt is a message of its own. */
      readonly isUnsent?: true;
    };
