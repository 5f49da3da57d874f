/** The senders that act for another user. The host of a service passes it to {@link connectBus}. */
export interface Delegation {
  /** The NATS users that may send a message on behalf of another user, named in a user token. */
  readonly speakers: ReadonlySet<string>;
  /** The speaker that must name a user wherever the contract has a role; null for none. */
  readonly mustNameUser: string | null;
  /** The user whose turn a call takes, from its verified caller and its correlation id. */
  readonly forWhom: (caller: string, correlationId: string) => string;
}

/** Every sender acts for itself, and user tokens are refused. */
export const NO_DELEGATION: Delegation = {
  speakers: new Set(),
  mustNameUser: null,
  forWhom: (caller) => caller,
};
