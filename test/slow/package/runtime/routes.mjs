import { Code, ConnectError } from "@connectrpc/connect";
import { LibraryService } from "./gen/library/v1/library_pb.js";

const dune = { bookId: "dune", title: "Dune", pageCount: 412 };

export const options = {
  bodyLimit: () => 1_000,
  routes: (router) =>
    router.service(LibraryService, {
      getBook({ bookId }) {
        if (bookId !== "dune") throw new ConnectError(`no book ${bookId}`, Code.NotFound);
        return dune;
      },
      createBook: ({ book }) => book,
      async *readBooks() {
        yield dune;
        yield { ...dune, bookId: "emma" };
      },
    }),
};
