import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { fastify } from "fastify";
import { createOpenApi, restGateway } from "mooring-gateway";
import { LibraryService } from "./gen/library/v1/library_pb.js";

const books = new Map([["dune", { bookId: "dune", title: "Dune", pageCount: 412 }]]);

const routes = (router: ConnectRouter) =>
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

const app = fastify();
await app.register(restGateway, { routes });
const document = createOpenApi({ routes, title: "Library", version: "1" });
app.get("/openapi.json", () => document);
console.log(await app.listen({ host: "127.0.0.1", port: Number(process.env["PORT"] ?? 8080) }));
