import { startedForEach } from "../started.ts";

/** A new, empty database that can be opened several times. */
export interface PlaceOf<S> {
  open(): Promise<S>;
  remove(): Promise<void>;
}

/** A place for each test, and a store on it. All stores are closed before the place is removed. */
export function placeForEach<S extends { close(): Promise<void> }, P extends PlaceOf<S>>(
  newPlace: () => Promise<P & PlaceOf<S>>,
) {
  const opened: S[] = [];
  const place = startedForEach(async () => {
    const made = await newPlace();
    const remove = async (): Promise<void> => {
      await Promise.all(opened.splice(0).map((store) => store.close()));
      await made.remove();
    };
    return { ...made, remove };
  });
  /** Opens another store on the same database. */
  const open = async (): Promise<S> => {
    const store = await place.open();
    opened.push(store);
    return store;
  };
  return { place, open, store: startedForEach(open) };
}
