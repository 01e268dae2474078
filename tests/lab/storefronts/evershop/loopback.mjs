// Loaded before EverShop, which would listen on every network interface of the machine.
import net from 'node:net';

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  return typeof port === 'number' || typeof port === 'string'
    ? listen.call(this, Number(port), '127.0.0.1', ...rest.filter((one) => typeof one === 'function'))
    : listen.call(this, port, ...rest);
};
