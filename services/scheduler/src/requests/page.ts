/** One page of a list, and where the next one begins. */
export function pageOf<T>(all: readonly T[], { offset, limit }: { offset: number; limit: number }) {
  const items = all.slice(offset, offset + limit);
  const hasMore = offset + items.length < all.length;
  const nextOffset = hasMore ? offset + items.length : null;
  return { items, page: { total: all.length, offset, limit, hasMore, nextOffset } };
}
