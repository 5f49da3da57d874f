import type { Rpc } from "@switchyard/contracts/define";
import type { z } from "zod";
import type { User } from "../identity/user-cache.ts";

/** The credential of a request, where its own operation needs more than the caller. */
export interface SignedIn {
  readonly user: User;
  readonly credential: string;
}

/** Answers an operation for a caller whose right to it was checked. Rejects with a ServiceError of the operation. */
type Answer<R extends Rpc> = (
  request: z.output<R["request"]>,
  caller: string,
  signedIn: SignedIn,
) => Promise<z.input<R["reply"]>>;

type AnyAnswer = (request: unknown, caller: string, signedIn: SignedIn) => Promise<unknown>;

/** The operations that the gateway answers by itself, without a call over the bus. */
export class OwnOperations {
  readonly #answers = new Map<unknown, AnyAnswer>();

  add<R extends Rpc>(contract: R, answer: Answer<R>): void {
    this.#answers.set(contract, async (request, caller, signedIn) =>
      // R's own schema parses it.
      answer(contract.request.parse(request) as z.output<R["request"]>, caller, signedIn),
    );
  }

  /** Returns undefined for operations that services answer. */
  of(contract: unknown): AnyAnswer | undefined {
    return this.#answers.get(contract);
  }
}
