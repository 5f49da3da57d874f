/** What became of one attempt to tell how a run ended. */
export type DeliveryOutcome =
  | { readonly outcome: "delivered" }
  | {
      /** `again`: it may succeed later. `unknown`: it may have been received, and nobody answered. */
      readonly outcome: "again" | "unknown" | "refused";
      readonly error: string;
      /** It is not tried again, although nobody knows. */
      readonly isFinal?: true;
      /** Surely nothing was sent: the next attempt is a message of its own. */
      readonly isUnsent?: true;
    };
