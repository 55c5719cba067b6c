import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { LibraryService } from "./gen/library/v1/library_pb.js";

const books = new Map([["dune", { bookId: "dune", title: "Dune", pageCount: 412 }]]);

export const routes = (router: ConnectRouter) =>
  router.service(LibraryService, {
    getBook({ bookId }) {
      const book = books.get(bookId);
      if (book === undefined) throw new ConnectError(`no book ${bookId}`, Code.NotFound);
      return book;
    },
    listBooks({ minPageCount }) {
      return { books: [...books.values()].filter(({ pageCount }) => pageCount >= minPageCount) };
    },
    createBook({ book }) {
      if (!book?.bookId) throw new ConnectError("book_id is missing", Code.InvalidArgument);
      if (books.has(book.bookId)) throw new ConnectError("it is there", Code.AlreadyExists);
      books.set(book.bookId, book);
      return book;
    },
    async *readBooks() {
      yield* books.values();
    },
  });
